/**
 * The HTTP service.
 *
 * exchange  one request and its answer
 * identity  a principal and the credential that proves it
 * hub       all readers of one session in this process
 * login     the record behind a user's tokens
 * handler   a function from a validated call to an answer, one for each route
 * guard     the access check for sessions
 * run       consecutive events as bytes, shared by their readers
 * problem   an error as an RFC 9457 document
 */
export { createApi, type Api } from './server.ts'
export type { ApiDeps } from './deps.ts'
export type { Logger } from './logger.ts'
export type { HarnessStats } from './site/metrics.ts'
export type { Tuning } from './tuning.ts'
export { createRegistry, meterStore } from './site/metrics.ts'
export {
  createLoginLink,
  createServiceAccount,
  LOGIN_LINK_TTL_MS,
  loginLinkPath,
  mintUserToken,
  type MintUserToken,
  type NewServiceAccount,
} from './auth/issue.ts'
export { DamagedKeyFile, shareSigningKey, signingKeyProblem, signingSecrets } from './auth/signing-key.ts'
export { hashPassword } from './auth/passwords.ts'
export { openapiDocument, openapiText } from './openapi.ts'
export type { OpenApi } from './openapi-document.ts'
export type { Mount } from './http/mounts.ts'
export { mcpPages } from './mcp-pages.ts'
export type { McpAccounts } from './mcp-accounts.ts'
export type { EditedKind, SettingDetail, SettingPerson, Settings, SettingView } from './settings.ts'
