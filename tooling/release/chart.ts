/** The Helm chart: its values files, the manifests that Helm renders from them, and its archive. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { stringify } from 'yaml'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { NotRun } from './as-user.ts'
import { type Manifest, readManifests } from './manifest-policy.ts'

export const CHART = join(root, 'deploy/helm/cairn')
const GOLDEN = join(root, 'deploy/helm/golden')
const SDK = join(root, 'tooling/release/helm.py')
/** The oldest version of Kubernetes that the chart allows. */
export const OLDEST_KUBERNETES = '1.31'

/** Names of the files with values that a release is checked with. */
export const listValues = (): string[] =>
  readdirSync(join(CHART, 'ci'))
    .map(file => basename(file, '.yaml'))
    .toSorted()

export const valuesFile = (name: string): string => join(CHART, 'ci', `${name}.yaml`)
export const goldenFile = (name: string): string => join(GOLDEN, `${name}.yaml`)
export const readGolden = (name: string): string => readFileSync(goldenFile(name), 'utf8')

export type Helm = {
  version: string
  /** Throws if it finds more than advice. `chart` is a folder or an archive. */
  lint(chart: string, name: string): void
  /** The manifests for a file of values, in a form that does not depend on the version of Helm. */
  render(name: string): string
}

/** The program helm, or Helm's library in the Python package helm-python-sdk. */
export function findHelm(): Helm {
  const succeeds = (command: string, args: readonly string[]): boolean =>
    spawnSync(command, args, { stdio: 'ignore' }).status === 0
  const run = (command: string, ...args: readonly string[]): string =>
    execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' })
  const oldest = ['--kube-version', OLDEST_KUBERNETES]
  if (succeeds('helm', ['version']))
    return {
      version: run('helm', 'version', '--short').trim(),
      lint: (chart, name) =>
        void run('helm', 'lint', '--strict', chart, '--values', valuesFile(name), ...oldest),
      render: name =>
        normalize(
          run('helm', 'template', 'cairn', CHART, '-n', 'cairn', '--values', valuesFile(name), ...oldest),
        ),
    }
  if (succeeds('python3', ['-c', 'import helm_python']))
    return {
      version: run('python3', SDK, 'version').trim(),
      lint: (chart, name) => void run('python3', SDK, 'lint', chart, valuesFile(name), OLDEST_KUBERNETES),
      render: name => normalize(run('python3', SDK, 'template', CHART, valuesFile(name), OLDEST_KUBERNETES)),
    }
  throw new NotRun('neither helm nor the Python package helm-python-sdk is installed')
}

/**
 * Sorts by kind, name and key, and drops comments. Kubernetes reads YAML 1.1, in which `off` without quotes
 * is not text.
 */
function normalize(text: string): string {
  const keyOf = ({ kind, metadata }: Manifest): string => `${kind}/${metadata.name}`
  return readManifests(text)
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map(manifest =>
      stringify(manifest, {
        version: '1.1',
        sortMapEntries: true,
        lineWidth: 0,
        aliasDuplicateObjects: false,
      }),
    )
    .join('---\n')
}

/** Writes the archive that `helm install` accepts. Equal files give equal bytes. */
export function packChart(folder: string): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `cairn-${VERSION}.tgz`)
  execFileSync('tar', [
    '--create',
    '--gzip',
    '--file',
    file,
    '--directory',
    join(CHART, '..'),
    '--sort=name',
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=go=rX,u+rw',
    '--exclude=cairn/ci',
    '--exclude=.helmignore',
    'cairn',
  ])
  return file
}
