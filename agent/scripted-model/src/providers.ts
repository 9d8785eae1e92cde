/** The servers behind the scripted providers. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { asError, type Config } from '@cairn/protocol'
import { ModelError } from '@cairn/models'
import { readScenario, type ScenarioInput } from './scenario.ts'
import { startScriptedServer, type ScriptedServer } from './server.ts'

export type ScriptedProviders = {
  /** Base URL by provider name, for createModels. */ urls: Readonly<Record<string, string>>
  close(): Promise<void>
}

/**
 * Starts a server per scripted provider; `fallback` answers if the configuration names no file. Paths are
 * relative to `folder`.
 */
export async function startScriptedProviders(
  models: Config['models'],
  fallback: ScenarioInput,
  folder: string,
): Promise<ScriptedProviders> {
  const servers = new Map<string, ScriptedServer>()
  const close = async () => {
    await Promise.all([...servers.values()].map(server => server.close()))
  }
  try {
    for (const [name, provider] of Object.entries(models.providers)) {
      if (provider.kind !== 'scripted') continue
      const scenario =
        provider.scenario === undefined
          ? fallback
          : await scenarioFile(resolve(folder, provider.scenario), name)
      servers.set(name, await startScriptedServer(scenario, { record: 0 }))
    }
  } catch (error) {
    await close()
    throw error
  }
  return { urls: Object.fromEntries([...servers].map(([name, server]) => [name, server.url])), close }
}

async function scenarioFile(path: string, provider: string) {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ModelError(
      'configuration',
      `the scenario of provider "${provider}" cannot be read: ${asError(error).message}`,
      { retryable: false, cause: error },
    )
  })
  return readScenario(text, path)
}
