/** How long a person takes for what a completed run does: hours saved are counted from it. */

import type { FormEvent, ReactNode } from "react";
import { useClient } from "ropewalk/react";
import type { May } from "../admin.gen.js";
import { api } from "../api.js";
import { NeedsManage } from "../config/may.js";
import { Moved } from "../ui/moved.js";
import { SaveRow } from "../ui/save-row.js";
import { useAct } from "../ui/use-act.js";
import { useEdited } from "../ui/use-edited.js";

interface MinutesProps {
  readonly agent: string;
  readonly minutes: number | null;
  readonly may: May;
}

export function Minutes({ agent, minutes, may }: MinutesProps): ReactNode {
  const client = useClient();
  const { busy, trouble, act } = useAct();
  const edited = useEdited<string>(minutes === null ? "" : String(minutes));
  const said = edited.value.trim();
  const number = Number(said);
  const wrong = said !== "" && !(Number.isFinite(number) && number > 0);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const asked = { agent, minutes: said === "" ? null : number };
    if (await act(() => client.call(api.setMinutes, asked))) edited.stored(said);
  };
  return (
    <form className="stack minutes" onSubmit={(event) => void save(event)}>
      <label className="filter">
        <span>Minutes that a person takes for what a completed run does</span>
        <input
          type="text"
          inputMode="decimal"
          data-testid="minutes"
          placeholder="not said"
          value={edited.value}
          aria-invalid={wrong || undefined}
          disabled={!may.manage || busy}
          onChange={(event) => edited.set(event.target.value)}
        />
      </label>
      {!may.manage && <NeedsManage may={may} what="Setting it" />}
      {wrong && <p className="trouble">A number of minutes above 0, or nothing.</p>}
      <Moved edited={edited} what="the minutes" />
      <SaveRow edited={edited} busy={busy} trouble={trouble} testId="save-minutes" wrong={wrong} />
    </form>
  );
}
