/** Who decides a tool's calls: whom the code names, or whom somebody picked in their place. */

import type { FormEvent, ReactNode } from "react";
import { useClient } from "ropewalk/react";
import type { CodedTool, OverrideView } from "../admin.gen.js";
import { api } from "../api.js";
import { Moved } from "../ui/moved.js";
import { type Names, NamesField } from "../ui/names-field.js";
import { SaveRow } from "../ui/save-row.js";
import { useAct } from "../ui/use-act.js";
import { useEdited } from "../ui/use-edited.js";
import { NeedsManage } from "./may.js";

export function Approvers({ view }: { readonly view: OverrideView }): ReactNode {
  const { tools } = view.code;
  if (tools.length === 0) return null;
  return (
    <section aria-labelledby="approvers-title">
      <h2 id="approvers-title">Who decides its tools' calls</h2>
      <p className="soft">
        It holds at once, also for calls that wait already. <code>$owner</code> is the owner of the
        conversation, <code>$speaker</code> who spoke last.
      </p>
      <NeedsManage may={view.may} what="Picking approvers" />
      <ul className="tools">
        {tools.map((tool) => (
          <li key={tool.name} className="tool" data-testid="approvers" data-tool={tool.name}>
            <Picked tool={tool} view={view} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Picked(props: { readonly tool: CodedTool; readonly view: OverrideView }): ReactNode {
  const { tool, view } = props;
  const { agent, approvers, may } = view;
  const client = useClient();
  const { busy, trouble, act } = useAct();
  const edited = useEdited<Names>(approvers[tool.name] ?? null);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const names = edited.value;
    const asked = { agent, tool: tool.name, approvers: names };
    if (await act(() => client.call(api.setApprovers, asked))) edited.stored(names);
  };
  return (
    <form className="stack" onSubmit={(event) => void save(event)}>
      <NamesField
        legend={tool.name}
        testId="picked"
        value={edited.value}
        change={edited.set}
        nobody={
          tool.approvers.length > 0
            ? `As coded: ${tool.approvers.join(", ")}`
            : "As coded: the owner of the conversation, and admins"
        }
        listed="Only those picked here"
        hint="One e-mail or user id to a line"
        disabled={!may.manage || busy}
      />
      <Moved edited={edited} what="these approvers" />
      <SaveRow
        edited={edited}
        busy={busy}
        trouble={trouble}
        testId="save-approvers"
        wrong={edited.value?.length === 0}
      />
    </form>
  );
}
