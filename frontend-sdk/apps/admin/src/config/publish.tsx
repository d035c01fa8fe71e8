/** The draft beside what is in force: it is published, or thrown away, as it is shown. */

import { type FormEvent, type ReactNode, useState } from "react";
import { useClient } from "ropewalk/react";
import type { OverrideView } from "../admin.gen.js";
import { api } from "../api.js";
import { Ago } from "../ui/time.js";
import { useAct } from "../ui/use-act.js";
import { Diff } from "./diff.js";
import { NeedsDeploy } from "./may.js";

export function Publish({ view }: { readonly view: OverrideView }): ReactNode {
  const { agent, draft, code, inForce, may } = view;
  const client = useClient();
  const { busy, trouble, act } = useAct();
  const [note, setNote] = useState("");
  if (draft === null) return null;
  const { content } = draft;
  const publish = async (event: FormEvent) => {
    event.preventDefault();
    const said = note.trim();
    const done = await act(() =>
      client.call(api.publish, { agent, content, ...(said !== "" && { note: said }) }),
    );
    if (done) setNote("");
  };
  return (
    <section aria-labelledby="publish-title" data-testid="publish">
      <h2 id="publish-title">What publishing the draft changes</h2>
      <form className="panel stack" onSubmit={(event) => void publish(event)}>
        <p className="soft" data-testid="draft-author">
          Saved by {draft.author ?? "somebody"}, <Ago at={draft.at} />
        </p>
        <Diff before={inForce} after={content} code={code} />
        <label className="list">
          <span className="soft">Note, for the list of versions</span>
          <input
            type="text"
            maxLength={300}
            data-testid="publish-note"
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
        <NeedsDeploy may={may} what="Publishing" />
        <div className="choices">
          <button
            type="submit"
            className="primary"
            data-testid="publish-draft"
            disabled={busy || !may.deploy}
          >
            {busy ? "Publishing…" : "Publish"}
          </button>
          <button
            type="button"
            className="grave"
            data-testid="discard-draft"
            disabled={busy}
            onClick={() => void act(() => client.call(api.discardDraft, { agent, content }))}
          >
            Discard the draft
          </button>
          <span className="soft">It counts from the next prompt on.</span>
        </div>
        {trouble !== undefined && (
          <p className="trouble" role="alert" data-testid="publish-trouble">
            {trouble}
          </p>
        )}
      </form>
    </section>
  );
}
