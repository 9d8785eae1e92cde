/** cairn doctor: checks everything that the service depends on and says how to fix problems. */
import { accessSync, constants, existsSync, statSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { isSea } from 'node:sea'
import { signingKeyProblem } from '@cairn/api'
import { asError, type Config } from '@cairn/protocol'
import { readConfig } from '../config/read-config.ts'
import { dataDirOf, findServer } from '../local/data-dir.ts'
import { checkBoxes } from './check-boxes.ts'
import { checkModels } from './check-models.ts'
import { checkStore } from './check-store.ts'
import { checkWorkspaces } from './check-workspaces.ts'
import { defineCommand, takePositionals } from './command.ts'
import { EXIT } from '../exit.ts'
import type { Finding } from './finding.ts'
import { tryModel } from './try-model.ts'
import { checkChannels } from '@cairn/channels'
import { VERSION } from '@cairn/tooling/version'
import { describeInstallation } from './installation.ts'

type Environment = Readonly<Record<string, string | undefined>>

const MARK = { ok: '✓', warn: '!', fail: '✗' } as const
const LOW_DISK_BYTES = 1 << 30
const PROBE_MS = 5_000

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check the installation, the configuration and the store',
  usage: [
    ['doctor', 'check without changing anything, also while the server runs. Exit code 1 when a check fails'],
    ['  --logs', 'also read and verify every event of every log'],
    ['  --model NAME', 'also call a model once, with a tool and a picture, and show what its server accepts'],
  ],
  options: { logs: { type: 'boolean', default: false }, model: { type: 'string' } },
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    const dataDir = dataDirOf(io.env)
    const findings = [
      checkInstallation(),
      checkNode(),
      ...checkConfig(io.env),
      ...(await checkModels(io.env, values.model === undefined ? [] : [values.model])),
      ...(values.model === undefined ? [] : await tryModel(io.env, dataDir, values.model, io.signal)),
      ...checkDataDir(dataDir),
      ...(await checkKey(dataDir)),
      ...checkWorkspaces(io.env, dataDir),
      ...(await checkStore(io.env, dataDir, values.logs)),
      await checkServer(dataDir),
      ...(await checkBoxes(io.env, dataDir)),
      ...(await checkConnections(io.env)),
    ]
    io.out(
      values.json
        ? `${JSON.stringify(findings)}\n`
        : findings
            .map(({ check, verdict, detail }) => `${MARK[verdict]} ${check.padEnd(14)} ${detail}\n`)
            .join(''),
    )
    return findings.some(({ verdict }) => verdict === 'fail') ? EXIT.failure.code : EXIT.ok.code
  },
})

const checkInstallation = (): Finding => ({
  check: 'installation',
  verdict: 'ok',
  detail: `cairn ${VERSION}, ${describeInstallation(import.meta, isSea() ? process.execPath : null)}`,
})

const checkNode = (): Finding => ({
  check: 'node',
  verdict: 'ok',
  detail: `${process.version} at ${process.execPath}`,
})

function checkConfig(env: Environment): Finding[] {
  try {
    const { config, demo, file } = readConfig(env)
    const agents = Object.entries(config.agents)
      .map(([name, agent]) => `${name} (${agent.model ?? 'no model'})`)
      .join(', ')
    return [
      {
        check: 'configuration',
        verdict: 'ok',
        detail:
          `${file ?? 'no cairn.yaml, all defaults'}; ${demo ? 'demo model' : 'models configured'}; ` +
          `agents: ${agents}`,
      },
    ]
  } catch (error) {
    return [{ check: 'configuration', verdict: 'fail', detail: asError(error).message }]
  }
}

function checkDataDir(dataDir: string): Finding[] {
  const check = 'data'
  if (!existsSync(dataDir))
    return [{ check, verdict: 'ok', detail: `${dataDir} does not exist yet; the first start creates it` }]
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return [{ check, verdict: 'fail', detail: `no access to ${dataDir}: ${asError(error).message}` }]
  }
  const findings: Finding[] = []
  for (const name of ['', 'auth-key.json']) {
    const path = join(dataDir, name)
    if (existsSync(path) && (statSync(path).mode & 0o077) !== 0)
      findings.push({ check, verdict: 'warn', detail: `other users can read ${path}: run chmod go= ${path}` })
  }
  const { bavail, bsize } = statfsSync(dataDir)
  const free = bavail * bsize
  if (free < LOW_DISK_BYTES)
    findings.push({
      check,
      verdict: 'warn',
      detail: `only ${Math.round(free / 2 ** 20)} MiB of disk space left in ${dataDir}`,
    })
  return findings.length > 0
    ? findings
    : [{ check, verdict: 'ok', detail: `${dataDir}, ${(free / 2 ** 30).toFixed(1)} GiB free` }]
}

async function checkKey(dataDir: string): Promise<Finding[]> {
  const problem = await signingKeyProblem(dataDir)
  return problem === null ? [] : [{ check: 'signing key', verdict: 'fail', detail: problem }]
}

async function checkServer(dataDir: string): Promise<Finding> {
  const check = 'server'
  const server = findServer(dataDir)
  if (server === null) return { check, verdict: 'ok', detail: 'not running on this data directory' }
  try {
    const { ok, status } = await fetch(`${server.url}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) })
    return {
      check,
      verdict: ok ? 'ok' : 'warn',
      detail: `${server.url} (process ${server.pid}) ${ok ? 'is ready' : `returned status ${status}`}`,
    }
  } catch (error) {
    return {
      check,
      verdict: 'fail',
      detail: `process ${server.pid} does not respond at ${server.url}: ${asError(error).message}`,
    }
  }
}

/**
 * The messaging channels of the configuration: whether their settings are complete and their mail servers
 * answer.
 */
async function checkConnections(env: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(env).config
  } catch {
    // The configuration check reports it.
    return []
  }
  return (await checkChannels(config, env, Date.now)).map(({ name, problem, isTried }) => ({
    check: `channel ${name}`,
    verdict: problem === null ? 'ok' : 'fail',
    detail: problem ?? (isTried ? 'its servers respond' : 'configured (not tested)'),
  }))
}
