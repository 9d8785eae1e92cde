/** MCP servers. */
import { z } from 'zod'
import { EgressConfig } from './governance.ts'
import { name, envName } from './names.ts'

/**
 * Tools are named `mcp__<server>__<tool>`, with `_` for a dot, so a server name must end in a plain
 * character.
 */
export const mcpServerName = name
  .max(40)
  .regex(
    /^(?!.*[._]{2})(?!.*[._]$)/,
    'must not contain "__" or end in "_", because its tools are mcp__<server>__<tool> (a dot becomes "_")',
  )

export const mcpServers = z
  .record(
    mcpServerName,
    z.lazy(() => McpServerConfig),
  )
  .superRefine((servers, context) => {
    const names = new Map<string, string>()
    for (const server of Object.keys(servers)) {
      const plain = server.replaceAll('.', '_')
      const other = names.get(plain)
      if (other !== undefined)
        context.addIssue({
          code: 'custom',
          path: [server],
          message: `has the same tool names as ${other}: a dot becomes "_" in tool names`,
        })
      names.set(plain, server)
    }
  })

export const maxAnswerMb = z
  .number()
  .positive()
  .default(2)
  .describe('max size of one answer over HTTP, or of one line over stdio')

export const pin = z
  .record(z.string(), z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 of 64 hexadecimal digits'))
  .optional()
  .describe('SHA-256 of each definition by tool name; other tools and definitions are skipped and logged')

const oauth = z
  .strictObject({
    per: z
      .enum(['user', 'shared'])
      .default('user')
      .describe('`user`: each person logs in; `shared`: an administrator logs in for the organisation'),
    grant: z
      .enum(['authorization_code', 'client_credentials', 'jwt_bearer'])
      .default('authorization_code')
      .describe('the last two are logins of the service itself and ask no person'),
    scopes: z
      .array(z.string())
      .default([])
      .describe('scopes to ask for; absent: those that the server names'),
    client_id: z
      .string()
      .optional()
      .describe('a client that was registered by hand; absent: registered as needed'),
    client_secret_env: envName.optional(),
    private_key_env: envName.optional().describe('variable with a PEM key, for `private_key_jwt`'),
    algorithm: z.string().default('ES256').describe('signature algorithm of that key'),
    assertion_env: envName.optional().describe('variable with the assertion of the grant `jwt_bearer`'),
    issuer: z.string().optional().describe('the only authorization server that may see the client'),
    client_metadata_url: z
      .url()
      .optional()
      .describe('client id metadata document; absent: that of public_url'),
    internal: z
      .array(z.string())
      .default([])
      .describe('hosts of authorization servers that are not public, as in egress.internal'),
  })
  .refine(({ grant, client_id }) => grant === 'authorization_code' || client_id !== undefined, {
    path: ['client_id'],
    error: 'is required for a login of the service',
  })

export const McpServerConfig = z.union([
  z.strictObject({
    command: z.string(),
    args: z.array(z.string()).default([]),
    env: z.array(envName).default([]).describe('names of environment variables that the server receives'),
    read_only: z.array(z.string()).default([]),
    pin,
    max_answer_mb: maxAnswerMb,
    sandbox: z
      .enum(['box', 'none'])
      .default('box')
      .describe('`none`: has the rights of this server; `box`: sandboxed, and skipped without a sandbox'),
    network: z
      .enum(['none', 'proxy', 'open'])
      .optional()
      .describe('network of its sandbox, at most sandbox.network; absent: sandbox.network'),
    egress: EgressConfig.prefault({}).describe('hosts that its sandbox can reach through the proxy'),
    files: z
      .array(z.string().regex(/^\//, 'must be an absolute path'))
      .default([])
      .describe('files and folders that its sandbox can read, besides the system'),
    memory_mb: z
      .int()
      .min(64)
      .optional()
      .describe('max memory of all its processes; absent: sandbox.memory_mb'),
    pids: z.int().min(16).optional().describe('max processes at a time; absent: sandbox.pids'),
  }),
  z.strictObject({
    url: z.url(),
    headers_env: z.record(z.string(), envName).default({}),
    auth: z
      .strictObject({ oauth: oauth.prefault({}) })
      .optional()
      .describe('login at the server'),
    read_only: z.array(z.string()).default([]),
    pin,
    max_answer_mb: maxAnswerMb,
  }),
])
export type McpServerConfig = z.infer<typeof McpServerConfig>
