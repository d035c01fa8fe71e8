/** All that was published, the newest first, each beside another; and putting an old one back. */

import { type ReactNode, useState } from "react";
import { useClient } from "ropewalk/react";
import type { OverrideContent, OverrideVersion, OverrideView } from "../admin.gen.js";
import { api } from "../api.js";
import { Sure } from "../ui/sure.js";
import { Ago } from "../ui/time.js";
import { same } from "../ui/use-edited.js";
import { FIELDS, NAMES } from "./content.js";
import { Diff } from "./diff.js";
import { NeedsDeploy } from "./may.js";

export function Versions({ view }: { readonly view: OverrideView }): ReactNode {
  const { versions } = view;
  return (
    <section aria-labelledby="versions-title">
      <h2 id="versions-title">Versions</h2>
      {versions.length === 0 ? (
        <p className="soft">Nothing was published yet: the code counts.</p>
      ) : (
        <>
          <NeedsDeploy may={view.may} what="Putting a version in force again" />
          <ul className="rows published" data-testid="versions">
            {versions.map((version, index) => (
              <Version
                key={version.version}
                version={version}
                before={versions[index + 1]}
                view={view}
              />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface VersionProps {
  readonly version: OverrideVersion;
  readonly before: OverrideVersion | undefined;
  readonly view: OverrideView;
}

function Version({ version, before, view }: VersionProps): ReactNode {
  const client = useClient();
  const { agent, inForce, may } = view;
  const number = version.version ?? 0;
  const counts = number === view.version;
  const says = FIELDS.filter((field) => version.content[field] !== undefined);
  return (
    <li data-testid="version" data-version={number}>
      <details>
        <summary>
          <span className={`mark ${counts ? "approved" : ""}`}>
            {counts ? `${number}, in force` : number}
          </span>
          <span className="main">
            <strong>{version.note ?? (says.length === 0 ? "Reset to code" : "No note")}</strong>
            <span className="soft">
              {version.author ?? "somebody"}, <Ago at={version.at} /> ·{" "}
              {says.length === 0
                ? "all as coded"
                : says.map((field) => NAMES[field].toLowerCase()).join(", ")}
            </span>
          </span>
        </summary>
        <div className="inside stack">
          <Compared version={version} before={before} view={view} />
          {may.deploy && (
            <Sure
              name="Put in force again"
              then={`What version ${number} says counts from the next prompt on, as a new version.`}
              testId="restore"
              disabled={same(version.content, inForce)}
              act={(note) =>
                client.call(api.restore, { agent, version: number, ...(note && { note }) })
              }
            />
          )}
        </div>
      </details>
    </li>
  );
}

type Other = "before" | "code" | "draft" | "inForce";

function Compared({ version, before, view }: VersionProps): ReactNode {
  const [picked, setPicked] = useState<Other>("before");
  const others: readonly (readonly [Other, string, OverrideContent | undefined])[] = [
    [
      "before",
      before ? `version ${before.version}` : "what was before: the code",
      before?.content ?? {},
    ],
    ["code", "the code", {}],
    ["draft", "the draft", view.draft?.content],
    ["inForce", "what is in force", view.inForce],
  ];
  const there = others.filter(([, , content]) => content !== undefined);
  const [, , other] = there.find(([name]) => name === picked) ?? there[0] ?? [];
  return (
    <>
      <label className="filter">
        <span>Beside</span>
        <select
          data-testid="compare-with"
          value={picked}
          onChange={(event) => setPicked(event.target.value as Other)}
        >
          {there.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <Diff before={other ?? {}} after={version.content} code={view.code} />
    </>
  );
}
