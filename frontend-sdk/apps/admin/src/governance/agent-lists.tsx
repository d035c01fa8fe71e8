/** Who may use one agent, and who may decide what it asks. */

import type { FormEvent, ReactNode } from "react";
import { useClient } from "ropewalk/react";
import type { AgentGovernance, May } from "../admin.gen.js";
import { api } from "../api.js";
import { Link, to } from "../router.js";
import { Moved } from "../ui/moved.js";
import { type Names, NamesField } from "../ui/names-field.js";
import { SaveRow } from "../ui/save-row.js";
import { useAct } from "../ui/use-act.js";
import { useEdited } from "../ui/use-edited.js";

interface ListsProps {
  readonly governed: AgentGovernance;
  readonly may: May;
}

interface Pair {
  readonly use: Names;
  readonly approve: Names;
}

const PEOPLE = "One e-mail or user id to a line; an empty list lets nobody in";

export function AgentLists({ governed, may }: ListsProps): ReactNode {
  const { agent, name, use, approve, approvers } = governed;
  const client = useClient();
  const { busy, trouble, act } = useAct();
  const edited = useEdited<Pair>({ use, approve });
  const pair = edited.value;
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (await act(() => client.call(api.setGovernance, { agent, ...pair }))) edited.stored(pair);
  };
  const picked = Object.entries(approvers);
  const titleId = `lists-${agent}`;
  return (
    <li className="tool" data-testid="agent-lists" data-agent={agent} aria-labelledby={titleId}>
      <h3 id={titleId}>
        {name} <code>{agent}</code>
        <Link href={to("agents", agent, "configuration")}>Configuration</Link>
      </h3>
      <form className="stack" onSubmit={(event) => void save(event)}>
        <div className="two">
          <NamesField
            legend="May use it"
            testId="use"
            value={pair.use}
            change={(it) => edited.set({ ...pair, use: it })}
            nobody="Whomever its access lets in"
            listed="Only those on this list"
            hint={PEOPLE}
            disabled={!may.manage || busy}
          />
          <NamesField
            legend="May decide for it"
            testId="approve"
            value={pair.approve}
            change={(it) => edited.set({ ...pair, approve: it })}
            nobody="The same as may use it"
            listed="Only those on this list"
            hint={PEOPLE}
            disabled={!may.manage || busy}
          />
        </div>
        <Moved edited={edited} what="these lists" />
        <SaveRow edited={edited} busy={busy} trouble={trouble} testId="save-lists" />
      </form>
      {picked.length > 0 && (
        <p className="soft" data-testid="picked-approvers">
          Approvers picked:{" "}
          {picked.map(([tool, each]) => `${tool} by ${each.join(", ")}`).join("; ")}
        </p>
      )}
    </li>
  );
}
