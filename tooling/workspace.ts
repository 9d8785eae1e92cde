/** Lists the packages, files and imports of the repository for the gate tests. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'

export const root = resolve(fileURLToPath(new URL('..', import.meta.url)))

export type Import = {
  specifier: string
  isType: boolean
  /** Loaded when that line is reached, and not with the module. */
  isDynamic?: true
}

export type SourceFile = { path: string; pkg: string; text: string; isTest: boolean }

const skipped = new Set(['node_modules', 'dist', 'coverage'])
/** `data` folders that a server has created. A folder of sources may have the same name. */
const isLeftBehind = (folder: string, name: string): boolean => name === 'data' && !folder.includes('/src')

/** Repo-relative paths of every file and folder below `folder`, build output and dependencies left out. */
export function listPaths(folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    if (skipped.has(entry.name) || entry.name.startsWith('.') || isLeftBehind(folder, entry.name)) return []
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? [path, ...listPaths(path)] : [path]
  })
}

/** The two products, which share tooling and no code, and the workshop. */
export type Product = 'agent' | 'tune' | 'dev'

/** Names of the packages under one product. */
export function listPackages(product: Product = 'agent'): string[] {
  return readdirSync(join(root, product)).filter(name =>
    existsSync(join(root, product, name, 'package.json')),
  )
}

/** The TypeScript files of the src folder of one package of agent/. */
export const readSources = (pkg: string): SourceFile[] => readSourcesOf('agent', pkg)

/** The TypeScript files of one package's src folder. */
export function readSourcesOf(product: Product, pkg: string): SourceFile[] {
  return listPaths(`${product}/${pkg}/src`)
    .filter(path => /\.tsx?$/.test(path))
    .map(path => ({
      path,
      pkg,
      text: readFileSync(join(root, path), 'utf8'),
      isTest: /\.test\.tsx?$/.test(path),
    }))
}

/** The TypeScript files of a package outside its src folder: tests, benches. */
export function readBeside(product: Product, pkg: string): Pick<SourceFile, 'path' | 'text'>[] {
  return listPaths(`${product}/${pkg}`)
    .filter(path => /\.tsx?$/.test(path) && !path.startsWith(`${product}/${pkg}/src/`))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** Every import, re-export and dynamic import with a literal specifier. `isType` ones vanish at run time. */
export function readImports({ path, text }: Pick<SourceFile, 'path' | 'text'>): Import[] {
  const { module, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  // `import { type A }` still loads the module, because verbatimModuleSyntax keeps the statement.
  const imports = module.staticImports.map(statement => ({
    specifier: statement.moduleRequest.value,
    isType: /^import\s+type\b(?!\s*(?:,|from\b))/.test(text.slice(statement.start, statement.end)),
  }))
  // `export { a }` of an imported name: the statement found is the import.
  const exports = module.staticExports.flatMap(statement => {
    const specifier = statement.entries.find(entry => entry.moduleRequest)?.moduleRequest?.value
    return specifier
      ? [{ specifier, isType: /^(?:ex|im)port\s+type\b/.test(text.slice(statement.start, statement.end)) }]
      : []
  })
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
    const literal = /^(['"`])([^'"`$]+)\1$/.exec(text.slice(start, end))
    return literal?.[2] ? [{ specifier: literal[2], isType: false, isDynamic: true as const }] : []
  })
  return [...imports, ...exports, ...dynamic]
}

/** The repo-relative path that a relative specifier resolves to. */
export function resolveRelative(from: string, specifier: string): string {
  return relative(root, resolve(root, dirname(from), specifier.replace(/\?.*$/, '')))
}

/** `@scope/name/sub` → `@scope/name`, `name/sub` → `name`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
