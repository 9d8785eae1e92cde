/** The settings of administrators in a running service: read at the start, followed, and offered to the API. */
import { resolve } from 'node:path'
import type { Settings } from '@cairn/api'
import { mcpSandboxes, rereadSkills, type Skill } from '@cairn/harness'
import type { LogStore } from '@cairn/log'
import type { LearnedFacts } from '@cairn/models'
import { asError } from '@cairn/protocol'
import type { SandboxChoice } from '@cairn/sandbox'
import type { Sealing } from '@cairn/sessions'
import { NO_SOURCE } from '../config/parse-config.ts'
import type { Logger } from '../serve/logging.ts'
import type { ServiceOptions } from '../serve/service-options.ts'
import { createOrgConfigs, type OrgConfigs } from './org-configs.ts'
import { createReach, LOOPBACK, type Reach } from './reach.ts'
import { createSettings } from './settings-service.ts'

export type StartedSettings = { orgs: OrgConfigs; reach: Reach; settings: Settings; learned: LearnedFacts }
type Deps = {
  store: LogStore
  sealing: Sealing
  learnSecrets: (secrets: readonly string[]) => void
  log: Logger
  learned: LearnedFacts
  scripted: { urls: Readonly<Record<string, string>> }
  sandbox: SandboxChoice | null
  /** This process knows the secrets of this user's organisation from the start. */
  admin: { org_id: string }
}

/** The directory of skills, absolute; undefined: none. */
export const skillsDirOf = ({
  config,
  configDir,
}: Pick<ServiceOptions, 'config' | 'configDir'>): string | undefined =>
  config.skills === undefined ? undefined : resolve(configDir, config.skills)

/** Secrets that another process stored must be redacted here too, soon. */
const FOLLOW_MS = 1_000

export async function startSettings(
  options: ServiceOptions,
  { store, sealing, learnSecrets, log, learned, scripted, sandbox, admin }: Deps,
  parts: AsyncDisposableStack,
): Promise<StartedSettings> {
  const { config, given = config, source = NO_SOURCE, env, dataDir, host } = options
  const orgs = createOrgConfigs({ file: given, source, settings: store.settings, sealing, learnSecrets, log })
  const reach = createReach(
    given,
    LOOPBACK.some(name => name.replaceAll(/[[\]]/g, '') === host),
  )
  parts.defer(() => reach.close())
  await orgs.of(admin.org_id)
  parts.defer(followChanges(orgs, log))
  const fileSkills = async (): Promise<ReadonlyMap<string, Skill>> =>
    (await rereadSkills(skillsDirOf(options), (level, message, fields) => log[level](message, fields))).skills
  const settings = createSettings({
    orgs,
    store,
    sealing,
    reach,
    env,
    scriptedUrls: scripted.urls,
    fileSkills,
    boxes: () => (sandbox === null ? null : mcpSandboxes({ sandbox, dataDir, path: env['PATH'] })),
  })
  return { orgs, reach, settings, learned }
}

function followChanges(orgs: OrgConfigs, log: Logger): () => Promise<void> {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let looking = Promise.resolve()
  const later = (): void => {
    timer = setTimeout(() => {
      looking = orgs
        .refresh()
        .catch((error: unknown) =>
          log.error('failed to read the settings', { error: asError(error).message }),
        )
        .then(() => (isStopped ? undefined : later()))
    }, FOLLOW_MS)
    timer.unref()
  }
  later()
  return async () => {
    isStopped = true
    clearTimeout(timer)
    await looking
  }
}
