/**
 * The allowed directions of imports. A rule that needs an exception means that code is in the wrong package.
 */
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findCycle } from './cycles.ts'
import {
  listPackages,
  listPaths,
  packageOf,
  readBeside,
  readImports,
  readSources,
  readSourcesOf,
  resolveRelative,
  root,
  type Product,
} from './workspace.ts'

// A package may import only the packages that it lists here.
const agentArrows: Record<string, readonly string[]> = {
  protocol: [],
  state: ['protocol'],
  verify: ['protocol', 'state'],
  log: ['protocol', 'tooling'],
  workspace: ['protocol'],
  sessions: ['protocol', 'log', 'state'],
  models: ['protocol', 'state'],
  'scripted-model': ['protocol', 'models'],
  sandbox: ['protocol', 'workspace'],
  harness: ['protocol', 'log', 'state', 'sessions', 'workspace', 'models', 'sandbox', 'tooling'],
  api: ['protocol', 'log', 'state', 'sessions', 'workspace'],
  channels: ['protocol', 'log', 'state', 'sessions', 'workspace', 'tooling'],
  compat: ['protocol', 'log', 'state', 'sessions'],
  client: ['protocol'],
  web: ['protocol', 'client', 'state'],
  app: [
    'protocol',
    'state',
    'verify',
    'log',
    'workspace',
    'sessions',
    'models',
    'scripted-model',
    'sandbox',
    'harness',
    'api',
    'channels',
    'client',
    'compat',
    'tooling',
  ],
}

const tuneArrows: Record<string, readonly string[]> = {
  ops: [],
  templates: [],
  native: ['ops', 'tooling'],
  program: ['ops', 'native'],
  tokenizers: ['tooling'],
  weights: ['ops', 'native', 'program', 'templates', 'tokenizers'],
  models: ['ops', 'program', 'weights'],
  train: ['ops', 'native', 'program', 'models', 'weights', 'tooling'],
  serve: ['ops', 'native', 'program', 'models', 'weights', 'tooling'],
  bench: ['ops', 'models', 'weights', 'train', 'serve'],
  cli: ['ops', 'native', 'program', 'models', 'weights', 'train', 'serve', 'bench', 'tooling'],
}

// No product imports these packages, except in tests.
const devArrows: Record<string, readonly string[]> = {
  emulator: ['ops', 'native'],
}

// No import leads from one product to the other: each may use only its own scope.
const products = {
  agent: { scope: '@cairn', arrows: agentArrows },
  tune: { scope: '@cairn-tune', arrows: tuneArrows },
  dev: { scope: '@cairn-tune', arrows: devArrows },
}
const packages = (['agent', 'tune', 'dev'] as const).flatMap(product =>
  listPackages(product).map(pkg => [product, pkg] as const),
)

// These packages run in a browser as well as in the server.
const pure = ['protocol', 'state']
const browserSafe = [...pure, 'client', 'web']
const testOnly = [
  'axe-core',
  'vitest',
  'fast-check',
  'playwright-core',
  '@copilotkit/aimock',
  'react',
  'react-dom',
]

type Manifest = { dependencies?: Record<string, string>; exports?: Record<string, string> }

function readDependencies(pkg: string, product: Product = 'agent'): string[] {
  const manifest = JSON.parse(readFileSync(join(root, product, pkg, 'package.json'), 'utf8')) as Manifest
  return Object.keys(manifest.dependencies ?? {})
}

function workspaceName(specifier: string, product: Product = 'agent'): string | undefined {
  const [scope, name] = specifier.split('/')
  if (packageOf(specifier) === '@cairn/tooling') return 'tooling' // The only shared package.
  if (scope === products[product].scope) return name
  return scope === '@cairn' || scope === '@cairn-tune' ? packageOf(specifier) : undefined
}
/**
 * Modules that a package's manifest exports beside its index are only for tests and benchmarks if they start
 * with these names.
 */
const NOT_PUBLIC = /^(?:internal|test|bench)\//
/** `cairn bench` is a command, so its code is with the commands. */
const isBench = (path: string): boolean => /^agent\/app\/src\/(?:bench\/|cli\/bench\.ts)/.test(path)

function namedBy(product: Product, pkg: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, product, pkg, 'package.json'), 'utf8')) as Manifest
  return Object.keys(manifest.exports ?? {})
}

const isRelative = (specifier: string) => specifier.startsWith('.') || specifier.startsWith('/')

describe.each(packages)('%s/%s', (product, pkg) => {
  const { arrows } = products[product]
  const sources = readSourcesOf(product, pkg)
  const imports = sources.flatMap(file => readImports(file).map(found => ({ ...found, file })))
  const describeAll = (found: typeof imports) =>
    found.map(({ file, specifier }) => `${file.path} imports ${specifier}`)

  test('is listed in the arrows, and its manifest depends on no other package', () => {
    expect(Object.keys(arrows)).toContain(pkg)
    const asked = readDependencies(pkg, product).flatMap(name => workspaceName(name, product) ?? [])
    expect(asked.filter(name => !arrows[pkg]?.includes(name))).toEqual([])
  })

  test('imports only the packages its arrow allows', () => {
    const wrong = imports.filter(({ specifier }) => {
      const name = workspaceName(specifier, product)
      return name !== undefined && !arrows[pkg]?.includes(name)
    })
    expect(describeAll(wrong)).toEqual([])
  })

  test('imports only what its manifest declares', () => {
    const declared = readDependencies(pkg, product)
    const wrong = imports.filter(({ specifier, file }) => {
      if (isRelative(specifier) || isBuiltin(specifier)) return false
      return (
        !declared.includes(packageOf(specifier)) && !(file.isTest && testOnly.includes(packageOf(specifier)))
      )
    })
    expect(describeAll(wrong)).toEqual([])
  })

  test('imports only public modules of other packages', () => {
    const wrong = imports.filter(({ specifier, file }) => {
      const [scope, name, ...parts] = specifier.split('/')
      // Its modules for the products are those that it exports; Node refuses the others.
      if (packageOf(specifier) === '@cairn/tooling') return false
      if (scope !== products[product].scope || name === undefined) return false
      const isPublic =
        parts.length === 0 || isBench(file.path) || file.isTest || !NOT_PUBLIC.test(parts.join('/'))
      // The workshop uses the packages of tune.
      const owner = product === 'dev' && !Object.hasOwn(arrows, name) ? 'tune' : product
      return !isPublic || !namedBy(owner, name).includes(['.', ...parts].join('/'))
    })
    expect(describeAll(wrong)).toEqual([])
  })

  test('exports each of its public modules by name', () => {
    expect(namedBy(product, pkg).filter(name => name.includes('*'))).toEqual([])
  })

  test('keeps relative imports inside its src folder', () => {
    const wrong = imports.filter(
      ({ specifier, file }) =>
        isRelative(specifier) &&
        !resolveRelative(file.path, specifier).startsWith(`${product}/${pkg}/src/`) &&
        !file.isTest,
    )
    expect(describeAll(wrong)).toEqual([])
  })

  test('keeps relative imports of tests and benches inside the package', () => {
    const others = readBeside(product, pkg)
    const wrong = [...sources, ...others].flatMap(file =>
      readImports(file)
        .filter(({ specifier }) => isRelative(specifier))
        .filter(({ specifier }) => !resolveRelative(file.path, specifier).startsWith(`${product}/${pkg}/`))
        .map(({ specifier }) => `${file.path} imports ${specifier}`),
    )
    expect(wrong).toEqual([])
  })

  test('has no import cycle, imports of types included', () => {
    const graph = new Map(sources.map(file => [file.path, [] as string[]]))
    for (const { file, specifier } of imports)
      if (isRelative(specifier)) graph.get(file.path)?.push(resolveRelative(file.path, specifier))
    expect(findCycle(graph)?.join(' → ')).toBeUndefined()
  })

  test('disables no import rule with a comment', () => {
    const wrong = sources.filter(({ text }) =>
      /(?:oxlint|eslint)-disable[^\n]*no-restricted-imports/.test(text),
    )
    expect(wrong.map(({ path }) => path)).toEqual([])
  })
})

test.each(browserSafe)('agent/%s uses no Node builtin outside tests', pkg => {
  const wrong = readSources(pkg).filter(
    file => !file.isTest && readImports(file).some(found => isBuiltin(found.specifier)),
  )
  expect(wrong.map(({ path }) => path)).toEqual([])
})

test.each(pure)('agent/%s depends on zod and its own arrow only', pkg => {
  const others = readDependencies(pkg).filter(name => name !== 'zod' && !workspaceName(name))
  expect(others).toEqual([])
})

// A command of the agent can change its workspace at any moment, so a path into a workspace may be outdated
// when it is used. Only agent/workspace, which opens names one by one, uses such paths.
const opensByPath: Record<string, string> = {
  'agent/api/src/auth/signing-key.ts': 'the key in the data directory',
  'agent/api/src/routes/fork.ts': 'the directory of workspaces',
  'agent/api/src/site/web-ui.ts': 'the built UI',
  'agent/api/src/sse/send-queues.ts': 'the tables of connections in /proc',
  'agent/harness/src/capabilities/code/sandboxed-agents.ts':
    'homes of runs, and agents, in the data directory',
  'agent/harness/src/capabilities/browser/chromium.ts': 'whether Chromium is installed',
  'agent/harness/src/capabilities/browser/files.ts': 'the private folder of a browser; the workspace by name',
  'agent/harness/src/capabilities/browser/launch.ts': 'the private folder of a browser',
  'agent/harness/src/capabilities/browser/remote.ts': 'the private folder of a browser',
  'agent/harness/src/capabilities/browser/session-browser.ts':
    'what the package wrote into the private folder',
  'agent/scripted-model/src/providers.ts': 'scenarios of the configuration',
  'agent/harness/src/capabilities/mcp/sandboxed.ts': 'folders of MCP servers in the data directory',
  'agent/harness/src/capabilities/review/memory-file.ts': 'memory files in the data directory',
  'agent/harness/src/capabilities/code/run-changes.ts': 'the store of checkpoints in the data directory',
  'agent/harness/src/capabilities/code/sweep-homes.ts': 'homes of runs, in the data directory',
  'agent/harness/src/capabilities/code/write-home.ts': 'settings in the homes of runs, in the data directory',
  'agent/sandbox/src/choose-container.ts': 'temporary folders of the service; podman’s seccomp list',
  'agent/sandbox/src/container-arguments.ts': 'only asks whether system files and the saved folder are',
  'agent/sandbox/src/container-engine.ts': 'only asks whether a folder of a service is there',
  'agent/sandbox/src/container-supervisor.ts': 'sockets in the temporary folder of the service',
  'agent/sandbox/src/bubblewrap.ts':
    'settings of the kernel, and whether there is a folder for bubblewrap to cover, before it runs',
  'agent/sandbox/src/bubblewrap-arguments.ts': 'whether the reserved folder is a folder, through no link',
  'agent/sandbox/src/cgroup.ts': 'control groups',
  'agent/sandbox/src/choose.ts': 'temporary folders of a process that only looks',
  'agent/sandbox/src/process-tags.ts': 'processes in /proc',
  'agent/sandbox/src/policy-proxy.ts': 'the sockets of boxes, in a temporary folder of its own',
  'agent/sandbox/src/processes.ts': 'processes in /proc',
  'agent/sandbox/src/service-folder.ts': 'the temporary folder of the service; processes in /proc',
  'agent/sandbox/src/temporary-folder.ts': 'new folders in the system’s folder for temporary files',
  'agent/sandbox/src/program.ts': 'programs in PATH',
  'agent/sandbox/src/unsandboxed.ts': 'the own control group in /proc',
  'agent/sandbox/src/watchdog.ts': 'processes in /proc',
  'agent/harness/src/capabilities/skills/catalogue.ts': "the deployment's skills",
  'agent/harness/src/tools/workspace-copies.ts':
    'what is kept of a copy in the data directory, and the directory of workspaces',
  'agent/harness/src/tools/checkpoint.ts': 'the store of checkpoints in the data directory',
  'agent/harness/src/tools/workspace-mask.ts': 'the real name of a workspace, nothing in it',
  'agent/harness/src/tools/workspace-quota.ts': 'how much space the disk of a workspace has, nothing in it',
  'agent/models/src/servers/learned-facts.ts': 'what is known about model servers, in the data directory',
  'agent/sessions/src/sealing.ts': 'the key of what is sealed, in the data directory',
}

test('lists every module that opens files by path, with what it opens outside workspaces', () => {
  const found = ['sessions', 'models', 'scripted-model', 'sandbox', 'harness', 'api']
    .flatMap(readSources)
    .filter(file => !file.isTest && readImports(file).some(found => /^(?:node:)?fs\b/.test(found.specifier)))
  expect(found.map(({ path }) => path).toSorted()).toEqual(Object.keys(opensByPath).toSorted())
})

test('no file or folder has a generic name such as utils', () => {
  const vague = /(^|\/)(utils?|helpers?|common|lib|managers?)(\.[^/]*)?$/
  expect(['agent', 'tune', 'dev', 'tooling'].flatMap(listPaths).filter(path => vague.test(path))).toEqual([])
})

test('finds a cycle and its path', () => {
  expect(
    findCycle(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['b']],
      ]),
    ),
  ).toEqual(['b', 'c', 'b'])
  expect(
    findCycle(
      new Map([
        ['a', ['b', 'c']],
        ['b', ['c']],
        ['c', []],
      ]),
    ),
  ).toBeUndefined()
})

test('distinguishes type-only imports from run-time imports', () => {
  const text = `import type { A } from './a.ts'
import { type B } from './b.ts'
import type from './c.ts'
export type { D } from './d.ts'
export * from './e.ts'
const f = await import('./f.ts')
// import './comment.ts'
`
  const runTime = readImports({ path: 'x.ts', text }).filter(({ isType }) => !isType)
  expect(runTime.map(({ specifier }) => specifier)).toEqual(['./b.ts', './c.ts', './e.ts', './f.ts'])
})
