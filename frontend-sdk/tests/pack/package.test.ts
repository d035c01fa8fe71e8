/**
 * IMP-34 The package, installed into a project of its own: every entry, every framework, and
 * every example of the README.
 */

import { join } from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import { build, type PluginOption, type Rolldown } from "vite";
import solid from "vite-plugin-solid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { complaints, fileOf, node, Packed } from "./packed.js";
import { type Block, blocksOf, scriptOf } from "./readme.js";

interface Framework {
  readonly name: string;
  /** What an app of it has besides the package. */
  readonly has: readonly string[];
  readonly plugins: readonly PluginOption[];
  readonly main: string;
  readonly compilerOptions: object;
}

const FRAMEWORKS: readonly Framework[] = [
  {
    name: "React",
    has: ["react", "react-dom", "@types/react", "@types/react-dom", "csstype"],
    plugins: [],
    main: "src/main.tsx",
    compilerOptions: { jsx: "react-jsx" },
  },
  { name: "Vue", has: ["vue"], plugins: [vue()], main: "src/main.ts", compilerOptions: {} },
  {
    name: "Solid",
    has: ["solid-js"],
    plugins: [solid()],
    main: "src/main.tsx",
    compilerOptions: { jsx: "preserve", jsxImportSource: "solid-js" },
  },
  {
    name: "Svelte",
    has: ["svelte"],
    plugins: [svelte({ configFile: false })],
    main: "src/main.ts",
    compilerOptions: { types: ["svelte"] },
  },
];
/** Each entry with the one package that it may need. */
const ENTRIES = [
  ["core", undefined],
  ["react", "react"],
  ["vue", "vue"],
  ["solid", "solid-js"],
  ["svelte", "svelte"],
  ["element", undefined],
] as const;
const STRICT = {
  target: "ES2022",
  lib: ["ES2023", "DOM", "DOM.Iterable"],
  module: "ESNext",
  moduleResolution: "Bundler",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
};

// Compilers and bundlers, on machines that are busy with other things.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

let packed: Packed;
let blocks: Block[];
/** What the README's examples import of the app's own. */
let app: Record<string, string>;

beforeAll(async () => {
  packed = await Packed.make();
  blocks = blocksOf(await fileOf("README.md"));
  app = {
    "src/api.gen.ts": await fileOf("apps/chat/src/api.gen.ts"),
    "src/auth.ts": "export const getToken = async (): Promise<string> => 'a token';\n",
  };
});

afterAll(async () => {
  await packed?.remove();
});

describe("IMP-34 the package", () => {
  it("holds what is built, what to read and the licence, and nothing else", () => {
    const others = packed.files.filter((path) => !/^dist\/.*\.(js|d\.ts)$/.test(path));

    expect(others.sort()).toEqual(["LICENSE", "README.md", "package.json"]);
  });

  it("is installed by npm, and brings nothing with it", async () => {
    expect(await packed.installed()).toEqual(["ropewalk"]);
  });

  it("is what publint and are-the-types-wrong wish for", async () => {
    const project = await packed.project("published", []);
    const installed = join(project, "node_modules", "ropewalk");

    const said = await Promise.all([
      complaints("publint", installed, "--strict", "--pack", "false"),
      complaints("attw", packed.tarball, "--profile", "esm-only"),
    ]);

    expect(said).toEqual(["", ""]);
  });

  it("can be imported by each of its entries where there is no page", async () => {
    const project = await packed.project("node", ["react", "vue", "solid-js", "svelte"]);
    const entries = ENTRIES.map(([entry]) => specifier(entry));

    const told = await node(
      project,
      `const names = ${JSON.stringify(entries)};
       const found = [];
       for (const name of names) found.push([name, Object.keys(await import(name)).length > 0]);
       console.log(JSON.stringify({ found, page: typeof document + typeof window }));`,
    );

    expect(JSON.parse(told)).toEqual({
      found: entries.map((name) => [name, true]),
      page: "undefinedundefined",
    });
  });

  it.each(ENTRIES)(
    "bundles its entry %s, which may need a package: %s",
    async (entry, framework) => {
      const project = await packed.project(`only-${entry}`, [], {
        "index.js": `export * from "${specifier(entry)}";\n`,
      });

      const { ours, foreign } = await bundled(project, [], join(project, "index.js"));

      expect(new Set(foreign.map((id) => id.split("/")[0]))).toEqual(
        new Set(framework === undefined ? [] : [framework]),
      );
      const folders = entry === "core" ? ["core", "http"] : ["core", entry];
      expect(new Set(ours.map((path) => path.split("/")[0]))).toEqual(new Set(folders));
    },
  );

  it("has types for which Node's own are enough", async () => {
    const node = { lib: ["ES2023"], types: ["node"], skipLibCheck: false };
    const project = await packed.project("types", ["@types/node", "undici-types"], {
      "tsconfig.json": configOf({ ...node, module: "NodeNext", moduleResolution: "NodeNext" }),
      "src/server.ts": `import * as ropewalk from "ropewalk";\nexport default ropewalk;\n`,
    });

    expect(await complaints("tsc", "-p", project)).toBe("");
  });
});

describe.each(FRAMEWORKS)("IMP-34 an app of $name, as the README shows it", (framework) => {
  const { name, has, plugins, main, compilerOptions } = framework;
  let project: string;

  beforeAll(async () => {
    const shown = blocks.filter(({ section, file }) => file && ["Begin", name].includes(section));
    const scripts = shown.filter(({ language }) => language === "vue" || language === "svelte");
    project = await packed.project(name, has, {
      ...app,
      ...Object.fromEntries(shown.map(({ file, code }) => [file, code])),
      ...Object.fromEntries(scripts.map((block) => [`${block.file}-script.ts`, scriptOf(block)])),
      "src/words.d.ts": name === "Vue" ? VUE_WORDS : "",
      "tsconfig.json": configOf(compilerOptions),
      "index.html": `<div id="app"></div><script type="module" src="/${main}"></script>`,
    });
  });

  it("builds, with this framework's adapter and no other", async () => {
    const { ours } = await bundled(project, plugins, join(project, "index.html"), []);

    const folders = new Set(ours.map((path) => path.split("/")[0]));
    expect([...folders].sort()).toEqual(["core", name.toLowerCase()]);
    // Who watches no inbox does not load it.
    expect(ours).not.toContain("core/approvals.js");
  });

  it("compiles", async () => {
    expect(await complaints("tsc", "-p", project)).toBe("");
  });
});

it("IMP-34 the README's other examples compile", async () => {
  const pieces = blocks.filter(({ language, file }) => !file && /^tsx?$/.test(language));
  const project = await packed.project(
    "pieces",
    [...(FRAMEWORKS[0]?.has ?? []), "@types/node", "undici-types"],
    {
      ...app,
      ...Object.fromEntries(
        pieces.map(({ section, code }, index) => [
          `src/${section.replaceAll(/\W+/g, "-")}-${index}.tsx`,
          `${code}\nexport {};\n`,
        ]),
      ),
      "src/words.d.ts": await fileOf("tests/pack/readme-words.d.ts"),
      "tsconfig.json": configOf({ jsx: "react-jsx", types: ["node"] }),
    },
  );

  expect(pieces.length).toBeGreaterThan(5);
  expect(await complaints("tsc", "-p", project)).toBe("");
});

it("IMP-34 the README's sizes are those that are held", async () => {
  const [begin] = (await fileOf("README.md")).split("## ");
  const held = JSON.parse(await fileOf(".size-limit.json")) as { name: string; limit: string }[];
  const named = held.filter(({ name }) => !name.endsWith("all of it"));

  expect(new Set(begin?.match(/[\d.]+ kB/g))).toEqual(new Set(named.map(({ limit }) => limit)));
});

/** What Vue's compiler knows and TypeScript does not. */
const VUE_WORDS = `
declare module "*.vue" {
  const component: import("vue").Component;
  export default component;
}
declare const defineProps: typeof import("vue").defineProps;
`;

const specifier = (entry: string) => (entry === "core" ? "ropewalk" : `ropewalk/${entry}`);

function configOf(compilerOptions: object): string {
  return JSON.stringify({ compilerOptions: { ...STRICT, ...compilerOptions }, include: ["src"] });
}

interface Bundled {
  /** Modules of the package of which anything is left, by their paths in `dist`. */
  readonly ours: readonly string[];
  /** Whatever is imported from elsewhere, as it is written. */
  readonly foreign: readonly string[];
}

/** Build for real. All that is not of the package stays outside, unless `external` says less. */
async function bundled(
  root: string,
  plugins: readonly PluginOption[],
  input: string,
  external: readonly RegExp[] = [/^(?!ropewalk)[^./\0]/],
): Promise<Bundled> {
  const { output } = (await build({
    root,
    configFile: false,
    logLevel: "error",
    plugins: [...plugins],
    build: {
      write: false,
      rolldownOptions: { input, external: [...external], preserveEntrySignatures: "strict" },
    },
  })) as Rolldown.RolldownOutput;
  const chunks = output.flatMap((one) => (one.type === "chunk" ? [one] : []));
  const left = chunks.flatMap(({ modules }) =>
    Object.entries(modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : [])),
  );
  return {
    ours: left.flatMap((id) => id.split("node_modules/ropewalk/dist/")[1] ?? []),
    foreign: chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]),
  };
}
