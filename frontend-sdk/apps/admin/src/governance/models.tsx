/** Which models may be chosen by an override, or with a prompt. */

import type { FormEvent, ReactNode } from "react";
import { useClient } from "ropewalk/react";
import type { GovernanceView } from "../admin.gen.js";
import { api } from "../api.js";
import { Moved } from "../ui/moved.js";
import { type Names, NamesField } from "../ui/names-field.js";
import { SaveRow } from "../ui/save-row.js";
import { useAct } from "../ui/use-act.js";
import { useEdited } from "../ui/use-edited.js";

export function Models({ view }: { readonly view: GovernanceView }): ReactNode {
  const client = useClient();
  const { busy, trouble, act } = useAct();
  const edited = useEdited<Names>(view.models);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const models = edited.value;
    if (await act(() => client.call(api.setModels, { models }))) edited.stored(models);
  };
  return (
    <section aria-labelledby="models-title">
      <h2 id="models-title">Models that may be chosen</h2>
      <form className="panel stack" onSubmit={(event) => void save(event)}>
        <NamesField
          legend="By an override, or with a prompt"
          testId="models"
          value={edited.value}
          change={edited.set}
          nobody="Any"
          listed="Only these, and the one that an agent's code names"
          hint="One to a line, as provider:model"
          disabled={!view.may.manage || busy}
        />
        <Moved edited={edited} what="the list" />
        <SaveRow edited={edited} busy={busy} trouble={trouble} testId="save-models" />
      </form>
    </section>
  );
}
