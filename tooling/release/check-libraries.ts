/** The libraries as their users see them: linters of packages, two compilers, a program and a page. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NAMES } from '../names.ts'
import { createUser, install, NotRun, runAs, type User } from './as-user.ts'
import { type CheckFolders, type Checks, requireBuilt } from './checks.ts'
import { runNpm } from './npm.ts'

/** Installed for the check only: the repository does not depend on them. */
const LINTERS = { publint: '0.3.25', '@arethetypeswrong/cli': '0.18.5' }
const COMPILERS = { 'TypeScript 5.9': '5.9.3', 'TypeScript 7': '7.0.2' }

const PROGRAM = `import { createClient, type CairnClient } from '${NAMES.client}'
import { EVENTS } from '${NAMES.protocol}'
export const client: CairnClient = createClient({ baseUrl: 'http://127.0.0.1:1', token: 'none' })
console.log(\`\${Object.keys(EVENTS).length} event types\`)
`

/** A page is compiled for a bundler and may use the DOM. */
const PAGE = `import { createClient } from '${NAMES.client}'
import { EVENTS } from '${NAMES.protocol}'
const client = createClient({ baseUrl: location.origin, token: 'none' })
document.title = \`\${Object.keys(EVENTS).length} \${typeof client}\`
`

const STRICT = ['--strict', '--target', 'es2023', '--skipLibCheck', 'false']
const COMPILATIONS: Record<string, readonly string[]> = {
  'program.mts': [...STRICT, '--module', 'nodenext', '--lib', 'esnext,dom', '--types', 'node'],
  'page.ts': [
    ...STRICT,
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--lib',
    'esnext,dom,dom.iterable',
  ],
}

export function libraryChecks({ work }: CheckFolders, tarballs: readonly string[]): Checks {
  return {
    'packages of the libraries'() {
      tarballs.forEach(requireBuilt)
      const folder = installTools('linters', LINTERS, work)
      const bin = (name: string): string => join(folder, 'node_modules/.bin', name)
      for (const file of tarballs) {
        runLinter(bin('publint'), ['run', '--strict', file])
        // The libraries are ES modules, which old resolutions of TypeScript do not find.
        runLinter(bin('attw'), ['--profile', 'esm-only', '--no-emoji', file])
      }
      return Object.entries(LINTERS)
        .map(([name, version]) => `${name} ${version}`)
        .join(' and ')
        .concat(' report nothing')
    },
    'libraries in a program and a page'() {
      tarballs.forEach(requireBuilt)
      const user = createUser('24', work)
      install(user, [...tarballs, '@types/node@24'])
      writeFileSync(join(user.folder, 'program.mts'), PROGRAM)
      writeFileSync(join(user.folder, 'page.ts'), PAGE)
      for (const [name, version] of Object.entries(COMPILERS)) {
        const folder = installTools(name, { typescript: version }, work)
        for (const file of Object.keys(COMPILATIONS)) compile(folder, file, user)
      }
      const printed = runAs(user, ['node', 'program.mjs']).trim()
      return `compiled by ${Object.keys(COMPILERS).join(' and ')}; ${printed}`
    },
  }
}

function installTools(name: string, packages: Record<string, string>, work: string): string {
  const folder = join(work, name.replaceAll(' ', '-'))
  mkdirSync(folder, { recursive: true })
  const specs = Object.entries(packages).map(([each, version]) => `${each}@${version}`)
  try {
    runNpm(['install', '--no-audit', '--no-fund', '--no-save', '--silent', ...specs], folder)
  } catch (error) {
    throw new NotRun(`npm could not install ${specs.join(', ')}`, { cause: error })
  }
  return folder
}

function runLinter(command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.at(-1)}: ${(stdout + stderr).trim()}`)
}

function compile(compiler: string, file: string, { folder }: User): void {
  const tsc = join(compiler, 'node_modules/typescript/bin/tsc')
  try {
    execFileSync(process.execPath, [tsc, ...(COMPILATIONS[file] ?? []), file], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    })
  } catch (error) {
    throw new Error(`${tsc} ${file}: ${(error as { stdout?: string }).stdout}`, { cause: error })
  }
}
