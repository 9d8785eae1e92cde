/**
 * A model that answers from a scenario, over real HTTP in OpenAI's protocol, for the demo and for tests.
 *
 * scenario   rules, tried in order, and their answers
 * server     answers requests from one scenario
 */
export { startScriptedProviders, type ScriptedProviders } from './providers.ts'
export { readScenario, type Scenario, type ScenarioInput } from './scenario.ts'
export { type ScriptedServer, type ScriptedServerOptions, startScriptedServer } from './server.ts'
