/** The two halves of a login: to the authorization server, and back from it with a code. */
import { AppError } from '@cairn/protocol'
import { rootCause } from '../../../tools/root-cause.ts'
import type { Account } from './account.ts'
import { oauthFetch } from './fetch.ts'
import { type Collected, loginProvider, type PendingLogin } from './login.ts'
import type { OAuthServerConfig } from './options.ts'
import { union } from './scopes.ts'
import { tokensOf } from './tokens.ts'

type Start = { redirect_uri: string; client_metadata_url: string | null; state: string }

export async function startFlow(
  config: OAuthServerConfig,
  { clients: known, wanted, tokens }: Account,
  { redirect_uri, client_metadata_url, state }: Start,
): Promise<{ pending: PendingLogin; target: URL }> {
  const { auth } = await import('@modelcontextprotocol/client')
  const clients = { ...known }
  const collected: Collected = { verifier: '', discovery: undefined, target: null, tokens: null }
  const configured = config.scopes.join(' ')
  const scope = union(wanted?.scope, wanted === null ? undefined : tokens?.scope, configured)
  const resource_metadata_url = wanted?.resource_metadata_url
  try {
    await auth(loginProvider({ config, redirect_uri, client_metadata_url, clients, state }, collected), {
      serverUrl: config.url,
      fetchFn: oauthFetch(config.url, config.internal),
      forceReauthorization: true,
      ...(scope === undefined ? {} : { scope }),
      ...(resource_metadata_url === undefined ? {} : { resourceMetadataUrl: new URL(resource_metadata_url) }),
    })
  } catch (error) {
    throw failed('begin a login at', config, error)
  }
  const { target, verifier, discovery } = collected
  if (target === null || discovery === undefined) throw new Error('[mcp login] the flow named no address')
  return {
    target,
    pending: {
      redirect_uri,
      verifier,
      discovery,
      clients,
      // The SDK asks for the server's list of scopes if no scope was named.
      ...(target.searchParams.has('scope') ? { scope: target.searchParams.get('scope') ?? '' } : {}),
      ...(resource_metadata_url === undefined ? {} : { resource_metadata_url }),
    },
  }
}

export async function finishFlow(
  config: OAuthServerConfig,
  pending: PendingLogin,
  params: URLSearchParams,
  now: number,
): Promise<{ tokens: NonNullable<Account['tokens']>; clients: PendingLogin['clients'] }> {
  const { auth, validateAuthorizationResponseIssuer } = await import('@modelcontextprotocol/client')
  const { discovery } = pending
  const metadata = discovery.authorizationServerMetadata
  const { clients, redirect_uri, scope, resource_metadata_url } = pending
  const collected: Collected = { verifier: pending.verifier, discovery, target: null, tokens: null }
  const iss = params.get('iss') ?? undefined
  try {
    // First of all: the other parameters of an answer from another authorization server mean nothing.
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
    })
  } catch (error) {
    throw failed('accept the answer of', config, error)
  }
  const code = params.get('code')
  if (code === null || params.has('error'))
    throw new AppError(
      'wrong_state',
      `The authorization server did not allow access: ${(params.get('error') ?? 'no code').slice(0, 100)}.`,
    )
  try {
    const steps = { config, redirect_uri, client_metadata_url: null, clients, state: '' }
    await auth(loginProvider(steps, collected), {
      serverUrl: config.url,
      authorizationCode: code,
      fetchFn: oauthFetch(config.url, config.internal),
      ...(iss === undefined ? {} : { iss }),
      ...(scope === undefined ? {} : { scope }),
      ...(resource_metadata_url === undefined ? {} : { resourceMetadataUrl: new URL(resource_metadata_url) }),
    })
  } catch (error) {
    throw failed('redeem the code of', config, error)
  }
  if (collected.tokens === null) throw new Error('[mcp login] the flow ended without tokens')
  const resource = discovery.resourceMetadata?.resource
  return { tokens: tokensOf(collected.tokens, { config, now, resource, requested: scope }), clients }
}

function failed(operation: string, { url }: OAuthServerConfig, error: unknown): AppError {
  const { message } = rootCause(error)
  return new AppError('wrong_state', `Cannot ${operation} ${new URL(url).host}: ${message.slice(0, 500)}`, {
    cause: error,
  })
}
