/** Approve with other arguments: a field for each, or all of them as JSON. */

import { type FormEvent, type ReactNode, useMemo, useState } from "react";
import { type ApprovalRecord, RopewalkError } from "ropewalk";
import type { ToolView } from "../admin.gen.js";
import { sentenceOf, type Verdict } from "./deciding.js";
import { argumentsIn, argumentsOf, type Field, fieldsFor, troublesOf } from "./fields.js";

interface EditProps {
  readonly approval: ApprovalRecord;
  readonly tool: ToolView | undefined;
  readonly decide: (verdict: Verdict) => Promise<void>;
  readonly cancel: () => void;
}

type Troubles = Readonly<Record<string, string>>;

export function EditForm({ approval, tool, decide, cancel }: EditProps): ReactNode {
  const fields = useMemo(() => fieldsFor(tool, approval), [tool, approval]);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [json, setJson] = useState<string>();
  const [reason, setReason] = useState("");
  const [troubles, setTroubles] = useState<Troubles>({});
  const [busy, setBusy] = useState(false);

  const taken = () => (json === undefined ? argumentsOf(fields, texts) : argumentsIn(json));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const found = taken();
    if ("troubles" in found) {
      setTroubles(found.troubles);
      return;
    }
    setTroubles({});
    setBusy(true);
    const said = reason.trim();
    try {
      await decide({
        decision: "approved",
        editedInput: found.value,
        ...(said !== "" && { reason: said }),
      });
    } catch (thrown) {
      setBusy(false);
      const invalid = thrown instanceof RopewalkError && thrown.code === "INVALID_ARGUMENT";
      setTroubles(
        invalid && json === undefined
          ? troublesOf(thrown.message, fields)
          : { "": sentenceOf(thrown) },
      );
    }
  };
  const toggle = () => {
    setTroubles({});
    if (json === undefined) {
      const found = taken();
      const shown = "value" in found ? found.value : approval.input;
      setJson(JSON.stringify(shown, null, 2));
      return;
    }
    const found = argumentsIn(json);
    if ("troubles" in found) {
      setTroubles(found.troubles);
      return;
    }
    setTexts(
      Object.fromEntries(
        fieldsFor(tool, { input: found.value }).map(({ name, text }) => [name, text]),
      ),
    );
    setJson(undefined);
  };
  const general = troubles[""];
  const generalId = `trouble-${approval.id}`;

  return (
    <form className="decide" data-testid="edit-form" onSubmit={(event) => void submit(event)}>
      <div className="switch">
        <h3>Approve with</h3>
        <button type="button" className="quiet small" data-testid="edit-as-json" onClick={toggle}>
          {json === undefined ? "JSON" : "Fields"}
        </button>
      </div>
      {json === undefined ? (
        fields.map((field) => (
          <FieldInput
            key={field.name}
            id={`${approval.id}-${field.name}`}
            field={field}
            text={texts[field.name] ?? field.text}
            trouble={troubles[field.name]}
            change={(text) => setTexts({ ...texts, [field.name]: text })}
          />
        ))
      ) : (
        <label>
          Arguments as JSON
          <textarea
            className="code"
            data-testid="edit-json"
            rows={Math.min(16, json.split("\n").length + 1)}
            spellCheck={false}
            value={json}
            aria-invalid={general !== undefined}
            aria-describedby={general === undefined ? undefined : generalId}
            onChange={(event) => setJson(event.target.value)}
          />
        </label>
      )}
      {general !== undefined && (
        <p className="trouble" role="alert" id={generalId} data-testid="edit-trouble">
          {general}
        </p>
      )}
      <label>
        Reason, for the agent and the record (optional)
        <input
          type="text"
          maxLength={2000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <div className="choices">
        <button type="submit" className="primary" data-testid="confirm-edit" disabled={busy}>
          {busy ? "Approving…" : "Approve edited"}
        </button>
        <button type="button" onClick={cancel} disabled={busy}>
          Back
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly field: Field;
  readonly text: string;
  readonly trouble: string | undefined;
  readonly change: (text: string) => void;
}

function FieldInput({ id, field, text, trouble, change }: FieldProps): ReactNode {
  const aboutId = `${id}-about`;
  const troubleId = `${id}-trouble`;
  const common = {
    id,
    value: text,
    "data-testid": `field-${field.name}`,
    "aria-invalid": trouble !== undefined,
    "aria-describedby": trouble !== undefined ? troubleId : field.about ? aboutId : undefined,
  };
  return (
    <div className="field">
      <label htmlFor={id}>{field.name}</label>
      {field.kind === "choice" || field.kind === "flag" ? (
        <select {...common} onChange={(event) => change(event.target.value)}>
          {(!field.required || text === "") && <option value="">–</option>}
          {(field.kind === "flag" ? ["true", "false"] : field.choices).map((one) => (
            <option key={one} value={one}>
              {field.kind === "flag" ? (one === "true" ? "yes" : "no") : one}
            </option>
          ))}
        </select>
      ) : field.kind === "json" || text.length > 60 || text.includes("\n") ? (
        <textarea
          {...common}
          className={field.kind === "json" ? "code" : undefined}
          rows={Math.min(8, text.split("\n").length + 1)}
          spellCheck={field.kind === "text"}
          onChange={(event) => change(event.target.value)}
        />
      ) : (
        <input
          {...common}
          type="text"
          inputMode={field.kind === "number" ? "decimal" : "text"}
          onChange={(event) => change(event.target.value)}
        />
      )}
      {field.about && (
        <p className="soft" id={aboutId}>
          {field.about}
        </p>
      )}
      {trouble !== undefined && (
        <p className="trouble" role="alert" id={troubleId} data-testid="edit-trouble">
          {trouble}
        </p>
      )}
    </div>
  );
}
