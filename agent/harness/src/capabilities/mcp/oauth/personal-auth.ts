/**
 * The tokens of one owner for requests to one server: refreshed before they expire, by one process at a time.
 * When only the person can help, the request fails with the link at which they can.
 */
import type { McpAccountKey, McpAccountStore } from '@cairn/log'
import type { AuthProvider } from '@modelcontextprotocol/client'
import { type Clock, sleep } from '@cairn/models/clock'
import type { Accounts, StoredAccount, Tokens } from './account.ts'
import { ConsentNeeded } from './consent-needed.ts'
import { oauthFetch } from './fetch.ts'
import type { OAuthServerConfig } from './options.ts'
import { secretsIn, tokensOf } from './tokens.ts'

/** A token is refreshed this long before it expires. */
const EARLY_MS = 30_000
/** Longer than a refresh takes: then another process may try. */
const REFRESH_MS = 30_000
const POLL_MS = 200

export type PersonalDeps = {
  accounts: Accounts
  store: McpAccountStore
  clock: Clock
  linkOf: (server: string) => string
  learnSecrets: (secrets: readonly string[]) => void
}
type Owned = { server: string; config: OAuthServerConfig; key: McpAccountKey }

export const personalAuth = (deps: PersonalDeps, owned: Owned): AuthProvider => new PersonalAuth(deps, owned)

class PersonalAuth implements AuthProvider {
  readonly #deps: PersonalDeps
  readonly #owned: Owned
  /** The token of the last request. */
  #last: string | null = null
  #refreshing: Promise<Tokens | null> | null = null

  constructor(deps: PersonalDeps, owned: Owned) {
    this.#deps = deps
    this.#owned = owned
  }

  async token(): Promise<string | undefined> {
    const { clock, learnSecrets } = this.#deps
    let { tokens } = await this.#read()
    if (tokens === null) return undefined
    const { access_token, expires_at, refresh_token } = tokens
    if (expires_at !== undefined && refresh_token !== undefined && expires_at - EARLY_MS <= clock.now())
      tokens = await this.#refresh(access_token)
    if (tokens === null) return undefined
    learnSecrets(secretsIn(tokens))
    this.#last = tokens.access_token
    return tokens.access_token
  }

  async onUnauthorized({ response }: { response: Response }): Promise<void> {
    const { accounts, linkOf } = this.#deps
    const { key, server } = this.#owned
    const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response)
    const wanted = {
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resource_metadata_url: resourceMetadataUrl.href }),
    }
    const { tokens, account } = await this.#read()
    if (tokens !== null && tokens.access_token !== this.#last) return
    // A server that moved says so in its refusal.
    if (account.wanted?.resource_metadata_url !== wanted.resource_metadata_url)
      await accounts.change(key, each => ({ ...each, wanted: { ...each.wanted, ...wanted } }))
    const isRefreshed = tokens !== null && (await this.#refresh(tokens.access_token)) !== null
    await accounts.change(key, each => ({ ...each, wanted: isRefreshed ? null : wanted }))
    if (!isRefreshed) throw new ConsentNeeded(server, linkOf(server))
  }

  /** Tokens for another address are ignored: the configuration was changed since. */
  async #read(): Promise<StoredAccount & { tokens: Tokens | null }> {
    const { key, config } = this.#owned
    const { account, revision } = await this.#deps.accounts.read(key)
    const { tokens } = account
    return { account, revision, tokens: tokens?.url === config.url ? tokens : null }
  }

  /** The new tokens; null: the authorization server no longer accepts the old ones. */
  #refresh(used: string): Promise<Tokens | null> {
    this.#refreshing ??= this.#refreshOnce(used).finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  async #refreshOnce(used: string): Promise<Tokens | null> {
    const { store, clock } = this.#deps
    for (;;) {
      const { tokens, revision } = await this.#read()
      // Another process has done it.
      if (tokens === null || tokens.access_token !== used) return tokens
      if (tokens.refresh_token === undefined || revision === null) return null
      if (await store.claimRefresh(this.#owned.key, revision, REFRESH_MS))
        return this.#renew(tokens, tokens.refresh_token)
      await sleep(clock, POLL_MS, new AbortController().signal)
    }
  }

  async #renew(tokens: Tokens, refreshToken: string): Promise<Tokens | null> {
    const { accounts, clock, learnSecrets } = this.#deps
    const { config, key } = this.#owned
    const { discoverOAuthServerInfo, OAuthError, refreshAuthorization } =
      await import('@modelcontextprotocol/client')
    const fetchFn = oauthFetch(config.url, config.internal)
    const { account } = await accounts.read(key)
    const resourceMetadataUrl = account.wanted?.resource_metadata_url
    const found = await discoverOAuthServerInfo(config.url, {
      fetchFn,
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: new URL(resourceMetadataUrl) }),
    })
    const metadata = found.authorizationServerMetadata
    const issuer = metadata?.issuer ?? found.authorizationServerUrl
    const client = config.client ?? account.clients[tokens.issuer]
    // The server has moved to another authorization server, which must never see this token.
    if (issuer !== tokens.issuer || client === undefined) return null
    try {
      const renewed = await refreshAuthorization(found.authorizationServerUrl, {
        clientInformation: client as never,
        refreshToken,
        fetchFn,
        ...(metadata === undefined ? {} : { metadata }),
        ...(tokens.resource === undefined ? {} : { resource: new URL(tokens.resource) }),
      })
      const { resource, scope: requested } = tokens
      const next = tokensOf({ ...renewed, issuer }, { config, now: clock.now(), resource, requested })
      learnSecrets(secretsIn(next))
      await accounts.change(key, each => ({ ...each, tokens: next }))
      return next
    } catch (error) {
      // Revoked or expired. Any other failure may pass, so the tokens stay.
      if (!(error instanceof OAuthError) || error.code !== 'invalid_grant') throw error
      await accounts.change(key, each => ({ ...each, tokens: null }))
      return null
    }
  }
}
