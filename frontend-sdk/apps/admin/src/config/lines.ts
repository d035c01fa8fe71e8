/** What changed between two texts, line by line. */

export interface Line {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Above it a table of all pairs would be too large, and nobody reads such a diff. */
const MOST_PAIRS = 4_000_000;

/** Return the lines of both texts in one list: those that stayed, those that went, those that came. */
export function linesBetween(before: string, after: string): readonly Line[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    tail += 1;
  }
  return [
    ...marked("same", old.slice(0, head)),
    ...changed(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...marked("same", old.slice(old.length - tail)),
  ];
}

/** By the longest lines in common. */
function changed(old: readonly string[], now: readonly string[]): readonly Line[] {
  if (old.length * now.length > MOST_PAIRS) return [...marked("gone", old), ...marked("new", now)];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: "same", text: old[i] ?? "" });
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "gone", text: old[i] ?? "" });
      i += 1;
    } else {
      lines.push({ kind: "new", text: now[j] ?? "" });
      j += 1;
    }
  }
  return lines;
}

function marked(kind: Line["kind"], lines: readonly string[]): readonly Line[] {
  return lines.map((text) => ({ kind, text }));
}

export type Shown = Line | { readonly kind: "skipped"; readonly lines: number };

/** Return a diff with the long stretches in which nothing changed left out. */
export function shortened(lines: readonly Line[], around = 2): readonly Shown[] {
  const near = lines.map((_, index) =>
    lines
      .slice(Math.max(0, index - around), index + around + 1)
      .some(({ kind }) => kind !== "same"),
  );
  const shown: Shown[] = [];
  for (const [index, line] of lines.entries()) {
    const last = shown[shown.length - 1];
    if (near[index]) shown.push(line);
    else if (last?.kind === "skipped") shown[shown.length - 1] = { ...last, lines: last.lines + 1 };
    else shown.push({ kind: "skipped", lines: 1 });
  }
  return shown;
}
