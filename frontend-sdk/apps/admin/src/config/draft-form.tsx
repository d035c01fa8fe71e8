/** What is to stand in place of the code: a draft, which has no effect until it is published. */

import { type FormEvent, type ReactNode, useId } from "react";
import { useClient } from "ropewalk/react";
import type { OverrideContent, OverrideView } from "../admin.gen.js";
import { api } from "../api.js";
import { Moved } from "../ui/moved.js";
import { useAct } from "../ui/use-act.js";
import { useEdited } from "../ui/use-edited.js";
import { codedWords, type FieldName, NAMES, tidied, withField } from "./content.js";
import { Autonomy, Instructions, Model, Turns } from "./fields.js";

interface Drafting {
  readonly content: OverrideContent;
  /** The draft that it was begun from, as it is stored; null: there was none. */
  readonly draft: OverrideContent | null;
}

export function DraftForm({ view }: { readonly view: OverrideView }): ReactNode {
  const { agent, code, draft, inForce } = view;
  const client = useClient();
  const { busy, trouble, act, forget } = useAct();
  const edited = useEdited<Drafting>({
    content: tidied(draft?.content ?? inForce, code),
    draft: draft?.content ?? null,
  });
  const { content } = edited.value;
  const set = (next: OverrideContent) => edited.set({ ...edited.value, content: next });
  const say = <Name extends FieldName>(name: Name, value: OverrideContent[Name] | undefined) =>
    set(withField(content, name, value));
  const wrong = wrongWith(content);

  const save = async (event: FormEvent) => {
    event.preventDefault();
    await act(async () => {
      const stored = await client.call(api.saveDraft, {
        agent,
        content: tidied(content, code),
        over: edited.base.draft ?? "nothing",
      });
      edited.stored({ content: tidied(stored.content, code), draft: stored.content });
    });
  };
  const drop = () => {
    edited.take();
    forget();
  };

  return (
    <form className="settings" data-testid="draft-form" onSubmit={(event) => void save(event)}>
      <Setting name="instructions" said={content.instructions !== undefined} view={view} say={say}>
        <Instructions value={content.instructions ?? ""} change={(it) => say("instructions", it)} />
      </Setting>
      <Setting name="model" said={content.model !== undefined} view={view} say={say}>
        <Model view={view} value={content.model ?? ""} change={(it) => say("model", it)} />
      </Setting>
      <Setting name="autonomy" said={content.autonomy !== undefined} view={view} say={say}>
        <Autonomy value={content.autonomy ?? "as_coded"} change={(it) => say("autonomy", it)} />
      </Setting>
      <Setting name="maxTurns" said={content.maxTurns !== undefined} view={view} say={say}>
        <Turns value={content.maxTurns ?? 0} change={(it) => say("maxTurns", it)} />
      </Setting>
      <Tools view={view} content={content} say={say} />
      <Moved edited={edited} what="the draft" who={draft?.author} />
      {wrong !== undefined && (
        <p className="trouble" role="alert" data-testid="draft-wrong">
          {wrong}
        </p>
      )}
      {trouble !== undefined && (
        <p className="trouble" role="alert" data-testid="draft-trouble">
          {trouble}
        </p>
      )}
      <div className="choices">
        <button
          type="submit"
          className="primary"
          data-testid="save-draft"
          disabled={busy || !edited.changed || edited.moved || wrong !== undefined}
        >
          {busy ? "Saving…" : "Save draft"}
        </button>
        {edited.changed && (
          <button type="button" data-testid="undo-edits" onClick={drop}>
            Undo my edits
          </button>
        )}
        <span className="soft" role="status" data-testid="draft-state">
          {stateWords(edited.changed, draft !== null)}
        </span>
      </div>
    </form>
  );
}

function stateWords(changed: boolean, hasDraft: boolean): string {
  if (changed) return "Not saved.";
  return hasDraft
    ? "Saved as a draft: it has no effect until it is published."
    : "This is what is in force.";
}

/** Return what the server would refuse, said before it has to. */
function wrongWith({ maxTurns, model }: OverrideContent): string | undefined {
  if (maxTurns !== undefined && !(Number.isInteger(maxTurns) && maxTurns >= 1)) {
    return "Turns at most has to be a whole number from 1.";
  }
  if (model !== undefined && model.trim() === "") return "Name a model, as provider:model.";
  return undefined;
}

type Say = <Name extends FieldName>(name: Name, value: OverrideContent[Name] | undefined) => void;

interface SettingProps {
  readonly name: FieldName;
  /** Whether it says something of its own. */
  readonly said: boolean;
  readonly view: OverrideView;
  readonly say: Say;
  readonly children: ReactNode;
}

/** One field: as coded, or what stands in its place. */
function Setting({ name, said, view, say, children }: SettingProps): ReactNode {
  const id = useId();
  const { code } = view;
  const begin = () => {
    switch (name) {
      case "instructions":
        return say(name, code.instructions ?? "");
      case "model":
        return say(name, view.models?.[0] ?? code.model);
      case "autonomy":
        return say(name, code.autonomy === "as_coded" ? "always_ask" : "as_coded");
      case "maxTurns":
        return say(name, code.maxTurns);
      case "toolsOff":
        return undefined;
    }
  };
  return (
    <fieldset className="setting" aria-labelledby={id} data-testid={`setting-${name}`}>
      <h3 id={id}>{NAMES[name]}</h3>
      <label className="option">
        <input
          type="checkbox"
          checked={said}
          data-testid={`over-${name}`}
          onChange={(event) => (event.target.checked ? begin() : say(name, undefined))}
        />
        <span>Instead of what the code says</span>
      </label>
      {said ? (
        children
      ) : (
        <div className={name === "instructions" ? "coded text" : "coded"}>
          <span className="soft">As coded: </span>
          {codedWords(code, name) || "(none)"}
        </div>
      )}
    </fieldset>
  );
}

function Tools(props: {
  readonly view: OverrideView;
  readonly content: OverrideContent;
  readonly say: Say;
}): ReactNode {
  const { view, content, say } = props;
  const id = useId();
  const off = new Set(content.toolsOff ?? []);
  const turn = (tool: string, on: boolean) => {
    const next = new Set(off);
    if (on) next.delete(tool);
    else next.add(tool);
    say("toolsOff", next.size === 0 ? undefined : [...next].sort());
  };
  if (view.code.tools.length === 0) return null;
  return (
    <fieldset className="setting" aria-labelledby={id} data-testid="setting-toolsOff">
      <h3 id={id}>Tools that it is offered</h3>
      {view.code.tools.map(({ name, description }) => (
        <label key={name} className="option">
          <input
            type="checkbox"
            checked={!off.has(name)}
            data-testid={`offered-${name}`}
            onChange={(event) => turn(name, event.target.checked)}
          />
          <span>
            <code>{name}</code> <span className="soft">{(description ?? "").split("\n")[0]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
