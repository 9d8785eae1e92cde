/**
 * The scripted model as a provider: the OpenAI code path over real HTTP to a local server, so that only the
 * answers are fake.
 */
import { createOpenAI } from '@cairn/models/openai'
import type { ModelProvider } from '@cairn/models'
import type { ScenarioInput } from './scenario.ts'
import { startScriptedServer, type ScriptedServer } from './server.ts'

export type ScriptedProvider = ModelProvider & { server: ScriptedServer; close(): Promise<void> }

/** Starts a server for the scenario and a provider that calls it; `close` ends both. */
export async function createScripted(
  scenario: ScenarioInput,
  options: { name?: string; record?: number } = {},
): Promise<ScriptedProvider> {
  const server = await startScriptedServer(
    scenario,
    options.record === undefined ? {} : { record: options.record },
  )
  const provider = createOpenAI({ name: options.name ?? 'scripted', baseUrl: server.url })
  return {
    call: provider.call,
    server,
    async close() {
      await provider.close?.()
      await server.close()
    },
  }
}
