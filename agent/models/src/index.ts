/**
 * Calls of language models.
 *
 * provider   the client of one server: OpenAI's protocol or Anthropic's
 * model      a provider with the server's name of the model, resolved from `<provider>/<model>`
 * catalog    rates and limits by model name
 */
export { startCallTimeout } from './call-timeout.ts'
export { callWatched, MAX_LESSONS, type WatchedDeps } from './call-watched.ts'
export { contextWindowOf, type Cost, costOf } from './catalog.ts'
export { jsonWithin } from './json-answer.ts'
export { acceptableTools } from './repair/acceptable-tools.ts'
export { readArguments } from './repair/json-arguments.ts'
export { imageKey } from './repair/texts.ts'
export { findToolName } from './repair/tool-names.ts'
export { createPlainFetch, type Fetch } from './plain-fetch.ts'
export {
  type ModelAnswer,
  type ModelChunk,
  ModelError,
  type ModelMessage,
  type ModelProvider,
  type ModelRequest,
  type ToolSchema,
  type Usage,
} from './provider.ts'
export {
  type AddedProviders,
  createModels,
  modelSecrets,
  type Models,
  type ResolvedModel,
  type Upstream,
  upstreamOf,
} from './registry.ts'
export { schemaText } from './schema-text.ts'
export { watchSilence } from './silence.ts'
export { createTransport, limitRefusals, proxySettings } from './transport.ts'
export { type LearnedFact, type LearnedFacts, createLearnedFacts } from './servers/learned-facts.ts'
export type { ProfileFact } from './servers/effective-profile.ts'
export { type ProfileName, PROFILES, type ServerProfile } from './servers/profiles.ts'
