/**
 * URLs of the files of a module: threads that it starts, migrations, the built page. The sources name them
 * relative to themselves. A bundle (release/bundle.ts) has all of them in the folder of its modules.
 *
 * The bundler finds the files by these calls, so the arguments must be literals.
 */
type Meta = Pick<ImportMeta, 'url'>

/** Whether this code runs from a bundle instead of the sources. */
export const isBundled = ({ url }: Meta): boolean => !url.endsWith('.ts')

/** A module that runs in a thread or a process of its own, named without its extension. */
export const moduleBeside = (meta: Meta, path: string): URL =>
  isBundled(meta) ? new URL(`${lastSegment(path)}.mjs`, meta.url) : new URL(`${path}.ts`, meta.url)

/** A file, or a folder if the name ends with a slash. `bundledAs` is its name in a bundle if that differs. */
export const assetBeside = (meta: Meta, path: string, bundledAs = lastSegment(path)): URL =>
  new URL(isBundled(meta) ? bundledAs : path, meta.url)

/** `../a/b/` → `b/` */
const lastSegment = (path: string): string => /[^/]+\/?$/.exec(path)?.[0] ?? path

/** The folder of a module; in a bundle, of all modules. */
export const folderOf = ({ url }: Meta): URL => new URL('.', url)
