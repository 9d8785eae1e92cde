/** Checks of what deploys the products: the chart, its manifests, the systemd unit and the reverse proxies. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../workspace.ts'
import { requireTool } from './as-user.ts'
import { CHART, findHelm, goldenFile, listValues, OLDEST_KUBERNETES, packChart, readGolden } from './chart.ts'
import { tryProxy } from './try-proxy.ts'

const NEWEST_KUBERNETES = '1.37'
const UNIT = join(root, 'deploy/systemd/cairn.service')
/** Of `systemd-analyze security`: 0 is closed, 10 is open. */
const EXPOSURE_MAX = 3

/** Output and error output of a program that must succeed without a warning. */
function runClean(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout + stderr
}

function checkChart(): string {
  const helm = findHelm()
  const folder = mkdtempSync(join(tmpdir(), 'cairn-chart-'))
  try {
    const archives = ['first', 'second'].map(name => packChart(join(folder, name)))
    if (new Set(archives.map(file => readFileSync(file, 'base64'))).size > 1)
      throw new Error('two archives of the chart differ')
    for (const chart of [CHART, ...archives.slice(0, 1)])
      for (const name of listValues()) helm.lint(chart, name)
  } finally {
    rmSync(folder, { recursive: true })
  }
  const stale = listValues().filter(name => {
    const manifests = helm.render(name)
    if (process.env['UPDATE_MANIFESTS'] === '1') writeFileSync(goldenFile(name), manifests)
    return manifests !== readGolden(name)
  })
  if (stale.length > 0)
    throw new Error(
      `deploy/helm/golden differs from what Helm renders (${stale.join(', ')}): ` +
        'UPDATE_MANIFESTS=1 npm run release:check -- chart renews it',
    )
  return `no warning of lint --strict, ${listValues().length} manifests as recorded, Helm ${helm.version}`
}

/** "1.31", "1.32", … */
function kubernetesVersions(): string[] {
  const minor = (version: string): number => Number(version.split('.')[1])
  const oldest = minor(OLDEST_KUBERNETES)
  return Array.from({ length: minor(NEWEST_KUBERNETES) - oldest + 1 }, (_, at) => `1.${oldest + at}`)
}

function checkManifests(): string {
  requireTool('kubernetes-validate')
  const files = listValues().map(goldenFile)
  for (const version of kubernetesVersions())
    runClean('kubernetes-validate', ['--strict', '--quiet', '--kubernetes-version', version, ...files])
  return `${files.length} files are valid for Kubernetes ${OLDEST_KUBERNETES} to ${NEWEST_KUBERNETES}`
}

function checkUnit(): string {
  requireTool('systemd-analyze')
  // The unit names a program that exists only where it is installed.
  const folder = mkdtempSync(join(tmpdir(), 'cairn-unit-'))
  try {
    const program = join(folder, 'cairn')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    const unit = join(folder, 'cairn.service')
    writeFileSync(unit, readFileSync(UNIT, 'utf8').replace('/usr/local/bin/cairn', program))
    const warnings = runClean('systemd-analyze', ['verify', unit]).trim()
    if (warnings !== '') throw new Error(`systemd-analyze verify: ${warnings}`)
    const text = runClean('systemd-analyze', ['security', '--offline=yes', unit])
    const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(text)?.[1])
    if (!(exposure <= EXPOSURE_MAX))
      throw new Error(`the exposure is ${exposure}: it must be at most ${EXPOSURE_MAX}`)
    return `verified, exposure ${exposure} of at most ${EXPOSURE_MAX}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const DEPLOY_CHECKS: Record<string, () => string | Promise<string>> = {
  chart: checkChart,
  manifests: checkManifests,
  'systemd unit': checkUnit,
  'nginx in front': () => tryProxy('nginx'),
  'Caddy in front': () => tryProxy('caddy'),
}
