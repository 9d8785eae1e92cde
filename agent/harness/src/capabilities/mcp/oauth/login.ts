/**
 * A login in progress: from the address at the authorization server to the tokens. The SDK runs the flow; its
 * provider here is what the service knows of one owner at one server.
 */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { OAuthServerConfig } from './options.ts'

/** The store keeps this part of a login encrypted until the person comes back. */
export const PendingLogin = z.object({
  redirect_uri: z.string(),
  verifier: z.string(),
  discovery: z.custom<OAuthDiscoveryState>(value => typeof value === 'object' && value !== null),
  clients: z.record(z.string(), z.record(z.string(), z.unknown())),
  scope: z.string().optional(),
  resource_metadata_url: z.string().optional(),
})
export type PendingLogin = z.infer<typeof PendingLogin>

/** Registrations by issuer, as the SDK stores them. */
type Clients = Record<string, Record<string, unknown>>

export type LoginSteps = {
  config: OAuthServerConfig
  redirect_uri: string
  /** The service's own metadata document; null: it has no public https address. */
  client_metadata_url: string | null
  clients: Clients
  state: string
}

/** The state of the flow, collected while the SDK runs it. */
export type Collected = {
  verifier: string
  discovery: OAuthDiscoveryState | undefined
  target: URL | null
  tokens: (OAuthTokens & { issuer?: string | undefined }) | null
}

export const clientMetadata = (redirect_uri: string): OAuthClientMetadata => ({
  client_name: 'Cairn',
  redirect_uris: [redirect_uri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
})

export function loginProvider(
  { config, redirect_uri, client_metadata_url, clients, state }: LoginSteps,
  collected: Collected,
): OAuthClientProvider {
  const { client } = config
  const shared = {
    redirectUrl: redirect_uri,
    clientMetadata: clientMetadata(redirect_uri),
    state: () => state,
    tokens: () => undefined,
    saveTokens(tokens) {
      collected.tokens = tokens
    },
    redirectToAuthorization(url) {
      collected.target = url
    },
    saveCodeVerifier(verifier) {
      collected.verifier = verifier
    },
    codeVerifier: () => collected.verifier,
    saveDiscoveryState(discovery) {
      collected.discovery = discovery
    },
    discoveryState: () => collected.discovery,
  } satisfies Partial<OAuthClientProvider>
  // A configured client is never registered again, and never used at another authorization server.
  if (client !== null) return { ...shared, clientInformation: () => client }
  return {
    ...shared,
    ...(client_metadata_url === null ? {} : { clientMetadataUrl: client_metadata_url }),
    clientInformation: context => clients[context?.issuer ?? ''] as never,
    saveClientInformation(information, context) {
      clients[context?.issuer ?? ''] = { ...information }
    },
  }
}
