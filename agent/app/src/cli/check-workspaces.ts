/** cairn doctor for the workspaces directory. */
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { addressing } from '@cairn/workspace'
import { findWorkspacesDir, workspacesDirProblem } from '../local/workspaces-dir.ts'
import type { Finding } from './finding.ts'

const check = 'workspaces'

export function checkWorkspaces(
  env: Readonly<Record<string, string | undefined>>,
  dataDir: string,
): Finding[] {
  const fail = (detail: string): Finding[] => [{ check, verdict: 'fail', detail }]
  let workspacesDir: string
  try {
    workspacesDir = findWorkspacesDir(env)
  } catch {
    // The configuration check reports it.
    return []
  }
  const problem = workspacesDirProblem(dataDir, workspacesDir)
  if (problem !== null) return fail(problem)
  const findings: Finding[] = []
  const warn = (detail: string): void => void findings.push({ check, verdict: 'warn', detail })
  const isThere = existsSync(workspacesDir)
  try {
    if (isThere) accessSync(workspacesDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return fail(`no access to ${workspacesDir}: ${asError(error).message}`)
  }
  if (isThere && (statSync(workspacesDir).mode & 0o077) !== 0)
    warn(`other users can read ${workspacesDir}: run chmod go= ${workspacesDir}`)
  const old = join(dataDir, 'workspaces')
  if (existsSync(old) && readdirSync(old).length > 0)
    warn(`the next start moves the contents of ${old} to ${workspacesDir}`)
  if (addressing === 'path')
    warn(
      '/proc/self/fd is not available: a command that keeps replacing folders with symbolic ' +
        'links could make a file tool leave the workspace',
    )
  return findings.length > 0
    ? findings
    : [
        {
          check,
          verdict: 'ok',
          detail: isThere ? workspacesDir : `${workspacesDir} does not exist yet; the first start creates it`,
        },
      ]
}
