/** The README's examples, as the files that they are. */

export interface Block {
  readonly section: string;
  readonly language: string;
  readonly code: string;
  /** Where its first line says that it belongs; a piece of something larger has none. */
  readonly file: string | undefined;
}

const FENCE = /^```(\w*)\n(.*?)^```$/gms;
const FILE = /^(?:\/\/|<!--) (src\/[\w.-]+)/;

/** Return all examples, each with the section in which it stands. */
export function blocksOf(readme: string): Block[] {
  return readme.split(/^## /m).flatMap((part) => {
    const [section = ""] = part.split("\n", 1);
    return [...part.matchAll(FENCE)].map(([, language = "", code = ""]) => ({
      section,
      language,
      code,
      file: FILE.exec(code)?.[1],
    }));
  });
}

/** Return the TypeScript of an example in whatever language. */
export function scriptOf({ language, code }: Block): string {
  if (language !== "vue" && language !== "svelte") return code;
  return /<script[^>]*>(.*?)<\/script>/s.exec(code)?.[1] ?? "";
}
