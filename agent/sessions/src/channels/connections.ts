/**
 * Connections to platforms that administrators create, change and delete over the API. Their secrets are
 * encrypted before they reach the store, and no response contains them.
 */
import { createHash } from 'node:crypto'
import { type ChannelConnection, type LogStore, repliesOf } from '@cairn/log'
import { AppError, ChannelConfig, composeChannel, secretName } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { derivedId } from '../derived-id.ts'
import type { Sealing } from '../sealing.ts'
import { deliveryKey } from './delivery-key.ts'

export type ConnectionDeps = Pick<Deps, 'store' | 'newId'> & {
  sealing: Sealing
  /** The configured agents. */
  agents: readonly string[]
  /** Why the agent may not call this URL; null if it may. */
  urlProblem: (url: string, agent: string | undefined) => string | null
}
type ConnectionInput = {
  settings: Readonly<Record<string, unknown>>
  secrets: Readonly<Record<string, string>>
}
/** The row's content: settings without secrets, and the names of the secrets. */
type Stored = { settings: Record<string, unknown>; secrets: string[] }

const storedIn = ({ settings }: Pick<ChannelConnection, 'settings'>): Stored =>
  settings === null ? { settings: {}, secrets: [] } : (JSON.parse(settings) as Stored)
const about = (id: string): string => `channel ${id}`

/**
 * Returns the id of the new connection. Throws `invalid_body`, `unknown_agent`, or `wrong_state` if the name
 * is taken.
 */
export async function createConnection(
  deps: ConnectionDeps,
  { org_id, id: created_by }: { org_id: string; id: string },
  { name, ...input }: ConnectionInput & { name: string },
): Promise<string> {
  const config = check(deps, input)
  const id = derivedId('channel', org_id, name)
  const service_account_id = await ensureChannelAccount(deps, { org_id, name, created_by })
  const row = { id, org_id, name, platform: config.platform, service_account_id }
  if (!(await deps.store.channels.createConnection({ ...row, ...kept(deps, id, input) })))
    throw new AppError('wrong_state', `name: a channel named ${JSON.stringify(name)} exists already`)
  return id
}

/** Secrets that are not given stay unchanged. */
export async function changeConnection(
  deps: ConnectionDeps,
  connection: ChannelConnection,
  { settings = storedIn(connection).settings, secrets = {} }: Partial<ConnectionInput>,
): Promise<void> {
  refuseConfigured(connection)
  const { id, revision, platform } = connection
  const input = { settings, secrets: { ...openSecrets(deps.sealing, connection), ...secrets } }
  if (check(deps, input).platform !== platform)
    throw invalid('platform', 'cannot be changed: create another channel')
  if (!(await deps.store.channels.changeConnection(id, revision, kept(deps, id, input))))
    throw new AppError('wrong_state', 'The channel was changed in the meantime: reload it.')
}

/** `isRemoved`: cairn.yaml no longer lists the connection. */
export async function deleteConnection(
  { store }: Pick<Deps, 'store'>,
  connection: ChannelConnection,
  { isRemoved = false } = {},
): Promise<void> {
  if (!isRemoved) refuseConfigured(connection)
  await store.channels.deleteConnection(connection.id, connection.origin)
}

/** All settings, and the names of the secrets, for the page. Empty for a connection of cairn.yaml. */
export const shownSettings = storedIn

/**
 * The settings with decrypted secrets, for the process that runs the connection. Throws, with a message for
 * the operator, if they cannot be decrypted.
 */
export function openConnectionSettings(
  sealing: Sealing,
  connection: ChannelConnection,
): { settings: ChannelConfig; env: Record<string, string> } {
  const { settings, secrets } = storedIn(connection)
  const opened = openSecrets(sealing, connection)
  if (opened === null)
    throw new Error('the secrets were encrypted with a different key (CAIRN_SECRETS_KEY): enter them again')
  const env = Object.entries(opened).map(([key, value]) => [secretName(key), value] as const)
  return { settings: ChannelConfig.parse(composeChannel(settings, secrets)), env: Object.fromEntries(env) }
}

function openSecrets(
  sealing: Sealing,
  { id, sealed_secrets }: ChannelConnection,
): Record<string, string> | null {
  const opened = sealed_secrets === null ? null : sealing.open(about(id), sealed_secrets)
  return opened === null ? null : (JSON.parse(opened) as Record<string, string>)
}

const kept = ({ sealing }: ConnectionDeps, id: string, { settings, secrets }: ConnectionInput) => ({
  settings: JSON.stringify({ settings, secrets: Object.keys(secrets) } satisfies Stored),
  sealed_secrets: sealing.seal(about(id), JSON.stringify(secrets)),
})

function check(
  { agents, urlProblem }: ConnectionDeps,
  { settings, secrets }: ConnectionInput,
): ChannelConfig {
  const composed = composeChannel(settings, Object.keys(secrets))
  if (composed === null)
    throw invalid('settings', 'contain a key that is allowed only in cairn.yaml, or the name of a variable')
  const parsed = ChannelConfig.safeParse(composed)
  if (!parsed.success)
    throw invalidBody(
      parsed.error.issues.map(({ path, message }) => ({
        path: path.join('.').replace(/_env$/, ''),
        message,
      })),
    )
  const { agent } = parsed.data
  if (agent !== undefined && !agents.includes(agent))
    throw new AppError('unknown_agent', `agent: must be one of ${agents.join(', ')}`)
  const callback = parsed.data.platform === 'webhook' ? parsed.data.callback_url : null
  const problem = callback === null ? null : urlProblem(callback, agent)
  if (problem !== null) throw invalid('callback_url', problem)
  return parsed.data
}

const invalid = (path: string, message: string): AppError => invalidBody([{ path, message }])
const invalidBody = (errors: { path: string; message: string }[]): AppError =>
  new AppError('invalid_body', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    extra: { errors },
  })

function refuseConfigured({ origin, name }: ChannelConnection): void {
  if (origin === 'config')
    throw new AppError('wrong_state', `The channel ${name} is defined in cairn.yaml: change it there.`)
}

/**
 * Creates the service account that acts for unlinked senders of a connection, once. It has no usable token:
 * the hash is of a random value that is not kept.
 */
export async function ensureChannelAccount(
  { store: { accounts }, newId }: { store: Pick<LogStore, 'accounts'>; newId: () => string },
  { org_id, name, created_by }: { org_id: string; name: string; created_by: string },
): Promise<string> {
  const id = derivedId('channel account', org_id, name)
  const isThere = async (): Promise<boolean> =>
    (await accounts.listServiceAccounts(org_id)).some(account => account.id === id)
  if (await isThere()) return id
  try {
    await accounts.createServiceAccount({
      id,
      org_id,
      name: `channel:${name}`,
      scope: 'own',
      token_sha256: createHash('sha256').update(`${newId()}${newId()}`).digest('hex'),
      token_prefix: '',
      created_by,
      expires_at: null,
    })
  } catch (error) {
    // Another process created it first.
    if (!(await isThere())) throw error
  }
  return id
}

/**
 * A message with which an administrator tests a connection, sent by the channel itself. It has no inbound
 * event: the adapter resolves `to`.
 */
export type TestMessage = { to: string; text: string }

/** Returns the key of its delivery. */
export async function planTestMessage(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  { id, name, platform, state }: ChannelConnection,
  to: string,
): Promise<string> {
  if (state === 'disabled')
    throw new AppError('wrong_state', `The channel ${name} is disabled: enable it first.`)
  if (platform === 'website')
    throw new AppError(
      'wrong_target',
      'You cannot send a test message to a website channel: open its page instead.',
    )
  // Distinct from replies to inbound events, whose numbers are small.
  const where = { session_id: repliesOf(id), event_id: now(), part: 0 }
  const key = deliveryKey(where)
  const notice: TestMessage = { to, text: `This is a test message of the channel ${name}.` }
  await store.channels.planReply({ ...where, connection_id: id, key, body: JSON.stringify(notice) })
  return key
}
