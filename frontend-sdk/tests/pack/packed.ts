/** The package as it is published, installed where nothing of this tree is near. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const SDK = fileURLToPath(new URL("../../", import.meta.url));
const MODULES = join(SDK, "node_modules");

export class Packed {
  readonly #folder: string;
  readonly tarball: string;
  /** What the package holds, by path. */
  readonly files: readonly string[];

  private constructor(folder: string, tarball: string, files: readonly string[]) {
    this.#folder = folder;
    this.tarball = tarball;
    this.files = files;
  }

  /** Build and pack; `dist` of this tree is left alone, others may be using it. */
  static async make(): Promise<Packed> {
    const folder = await mkdtemp(join(tmpdir(), "ropewalk-pack-"));
    const source = join(folder, "source");
    await mkdir(source);
    for (const name of ["package.json", "README.md", "LICENSE"]) {
      await cp(join(SDK, name), join(source, name));
    }
    const tsc = join(MODULES, ".bin", "tsc");
    const config = join(SDK, "tsconfig.build.json");
    await run(tsc, ["-p", config, "--outDir", join(source, "dist")]);
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
      cwd: source,
    });
    const [{ filename, files }] = JSON.parse(stdout) as [
      { filename: string; files: { path: string }[] },
    ];
    return new Packed(
      folder,
      join(folder, filename),
      files.map(({ path }) => path),
    );
  }

  /** Make a project that has the package and those `peers`, and nothing else. */
  async project(
    name: string,
    peers: readonly string[],
    files: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const project = join(this.#folder, name);
    const installed = join(project, "node_modules", "ropewalk");
    await mkdir(installed, { recursive: true });
    await run("tar", ["-xzf", this.tarball, "-C", installed, "--strip-components=1"]);
    for (const peer of peers) {
      const link = join(project, "node_modules", peer);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(MODULES, peer), link);
    }
    await writeFile(join(project, "package.json"), '{ "type": "module", "private": true }');
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(project, path)), { recursive: true });
      await writeFile(join(project, path), text);
    }
    return project;
  }

  /** Have npm install it into an empty project, without a network; return what that has now. */
  async installed(): Promise<string[]> {
    const project = join(this.#folder, "empty");
    await mkdir(project);
    await writeFile(join(project, "package.json"), '{ "private": true }');
    const quiet = ["--offline", "--no-audit", "--no-fund", "--no-package-lock", "--engine-strict"];
    await run("npm", ["install", ...quiet, this.tarball], { cwd: project });
    return (await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith("."));
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Return what a tool that npm has brought complains of; nothing, when all is well. */
export async function complaints(tool: string, ...given: readonly string[]): Promise<string> {
  return await run(join(MODULES, ".bin", tool), [...given]).then(
    () => "",
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}` || "failed",
  );
}

/** Return what Node prints. */
export async function node(project: string, script: string): Promise<string> {
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    cwd: project,
  });
  return stdout;
}

/** Return a file of this tree. */
export async function fileOf(path: string): Promise<string> {
  return await readFile(join(SDK, path), "utf8");
}
