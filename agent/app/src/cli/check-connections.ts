/**
 * The messaging channels of the configuration: whether their settings are complete and their mail servers
 * answer.
 */
import { checkChannels } from '@cairn/channels'
import type { Config } from '@cairn/protocol'
import { readConfig } from '../config/read-config.ts'
import type { Finding } from './finding.ts'

export async function checkConnections(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
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
