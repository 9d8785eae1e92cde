/**
 * The schema of cairn.yaml with its defaults. Every key is optional and an unknown key is an error;
 * `agent/app` reads the file and suggests the nearest known key. The file never holds secrets, only the names
 * of environment variables that do.
 */
import { z } from 'zod'
import { ChannelConfig, DisclosureConfig } from './channel-config.ts'
import { notificationsConfig } from './notifications-config.ts'
import { ResearchLevels } from './research.ts'

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must contain only letters, digits, dots, dashes and underscores')
const modelName = z.string().regex(/^[^/\s]+\/\S+$/, 'must have the form <provider>/<model>')
const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')

export const ProviderConfig = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('openai'),
    base_url: z.url().default('https://api.openai.com/v1'),
    api_key_env: envName.optional(),
    headers: z.record(z.string(), z.string()).default({}),
  }),
  z.strictObject({
    kind: z.literal('anthropic'),
    base_url: z.url().default('https://api.anthropic.com'),
    api_key_env: envName.optional(),
  }),
  z.strictObject({
    kind: z.literal('scripted'),
    scenario: z.string().optional().describe('a YAML file; absent: the demo scenario'),
  }),
])
export type ProviderConfig = z.infer<typeof ProviderConfig>

export const Rates = z
  .strictObject({
    input: z.number().nonnegative(),
    output: z.number().nonnegative(),
    cache_read: z.number().nonnegative().optional(),
    cache_write: z.number().nonnegative().optional(),
    context_window: z.int().positive().default(128_000),
    max_output_tokens: z.int().positive().optional(),
    reasoning: z.boolean().default(false),
  })
  .partial({ input: true, output: true })
  .describe('USD per million tokens')
export type Rates = z.infer<typeof Rates>

export const EgressConfig = z.strictObject({
  default: z.enum(['allow', 'deny']).default('allow'),
  allow: z
    .array(z.string())
    .default([])
    .describe('host names; never allows a private address, whatever the name resolves to'),
  deny: z.array(z.string()).default([]),
  internal: z
    .array(
      z
        .string()
        .regex(/^[^*]+$/, 'must be a full host name or address, without a wildcard')
        .regex(
          /^(?:[^:]*|[\d.]+:\d+|\[[^\]]+\](?::\d+)?|[^.[]*:[^[]*:[^[]*)$/,
          'has a port after a name: only an address may have one (127.0.0.1:8080); a name allows all ports',
        ),
    )
    .default([])
    .describe('host names and addresses that may be private; an address with a port allows only that port'),
})

export const GovernanceConfig = z.strictObject({
  allowed_tools: z.array(z.string()).default([]).describe('empty: all tools of the agent'),
  denied_tools: z.array(z.string()).default([]),
  require_approval: z.array(z.string()).default([]),
  egress: EgressConfig.prefault({}),
})
export type GovernanceConfig = z.infer<typeof GovernanceConfig>

/**
 * Tools are named `mcp__<server>__<tool>`, with `_` for a dot, so a server name must end in a plain
 * character.
 */
const mcpServerName = name
  .max(40)
  .regex(
    /^(?!.*[._]{2})(?!.*[._]$)/,
    'must not contain "__" or end in "_", because its tools are mcp__<server>__<tool> (a dot becomes "_")',
  )

const mcpServers = z
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

const maxAnswerMb = z
  .number()
  .positive()
  .default(2)
  .describe('max size of one answer over HTTP, or of one line over stdio')

const pin = z
  .record(z.string(), z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 of 64 hexadecimal digits'))
  .optional()
  .describe('SHA-256 of each definition by tool name; other tools and definitions are skipped and logged')

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
    read_only: z.array(z.string()).default([]),
    pin,
    max_answer_mb: maxAnswerMb,
  }),
])
export type McpServerConfig = z.infer<typeof McpServerConfig>

export const SagaConfig = z.strictObject({
  enabled: z.boolean().default(false),
  undo: z
    .record(
      z.string(),
      z.strictObject({
        tool: z.string(),
        args: z
          .record(z.string(), z.unknown())
          .default({})
          .describe('{{arguments.x}} and {{result.x}} are replaced by values of the call'),
      }),
    )
    .default({})
    .describe('by tool name: the tool that undoes its effect'),
})

export const AdvisorConfig = z
  .strictObject({
    model: modelName.optional().describe('absent: no advisor'),
    every_iterations: z
      .int()
      .min(1)
      .default(10)
      .describe('iterations of a turn between two requests for advice'),
    before_finish: z
      .boolean()
      .default(true)
      .describe('whether the advisor checks a turn that used tools before it ends'),
    max_per_turn: z.int().min(1).max(20).default(2),
    max_tokens: z.int().positive().default(700),
    timeout_s: z.number().positive().default(20),
  })
  .describe('a second model that comments on the work of the first one')
export type AdvisorConfig = z.infer<typeof AdvisorConfig>

export const ReviewConfig = z
  .strictObject({
    memory: z.boolean().default(false).describe('whether to store facts about the user in a memory file'),
    skills: z
      .boolean()
      .default(false)
      .describe('whether to propose reusable procedures as skills; accepted skills become available'),
    every_turns: z.int().min(1).default(5),
    model: modelName.optional().describe('absent: the summary model, else the model of the agent'),
    max_tokens: z.int().positive().default(2000),
    timeout_s: z.number().positive().default(120),
  })
  .describe('a review of the session in the background, every `every_turns` turns')
export type ReviewConfig = z.infer<typeof ReviewConfig>

export const AgentInboxConfig = z
  .strictObject({
    checkin_minutes: z.number().positive().default(30),
    checkin_iterations: z.int().min(1).optional(),
    task_complete_minutes: z
      .number()
      .nonnegative()
      .default(10)
      .describe('work that took at least this long is reported when it ends; 0: all work'),
  })
  .describe('when an agent reports progress and completion')
export type AgentInboxConfig = z.infer<typeof AgentInboxConfig>

export const SessionBudget = z
  .strictObject({
    max_tokens: z.int().positive().optional(),
    max_cost_usd: z.number().positive().optional().describe('only with models that have a price'),
    max_minutes: z
      .number()
      .positive()
      .max(366 * 24 * 60)
      .optional()
      .describe('counted from the first claim of the session; at most a year'),
  })
  .describe('limits for a session and all its descendants')
export type SessionBudget = z.infer<typeof SessionBudget>

export const WorkersConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    agents: z
      .array(z.string())
      .default(['self'])
      .describe('agents that a worker may use; self: the agent of its parent'),
    models: z.array(modelName).default([]).describe('models that a worker may use besides that of its agent'),
    max_depth: z.int().min(1).max(8).default(2).describe('1: workers cannot create workers'),
    max_open: z.int().min(1).max(64).default(8).describe('max open workers of one session'),
    max_total: z.int().min(1).max(1000).default(50).describe('max workers of a session tree within 24 hours'),
    max_iterations: z.int().min(1).max(1000).default(30).describe('max iterations of one worker'),
    may_ask: z.boolean().default(true).describe('whether a worker may ask the user questions'),
    budget: z
      .strictObject({
        max_tokens: z.int().min(2000).nullable().default(500_000),
        max_cost_usd: z.number().positive().nullable().default(null),
        max_minutes: z.number().positive().nullable().default(30),
      })
      .prefault({})
      .describe(
        'limits for a worker and its descendants, at most its share of what its parent has left; null: none',
      ),
  })
  .describe('child sessions that work for the agent')
export type WorkersConfig = z.infer<typeof WorkersConfig>

export const AgentConfig = z.strictObject({
  description: z
    .string()
    .optional()
    .describe('what the agent is good at; shown to agents that may use it as a worker'),
  model: modelName.optional(),
  escalation_model: modelName.optional(),
  summary_model: modelName.optional(),
  system: z
    .string()
    .default('You are a careful assistant. Use the tools when they help, and say plainly what you did.'),
  tools: z.array(z.string()).optional().describe('absent: all'),
  max_iterations: z.int().min(1).max(1000).default(90),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().positive().optional(),
  experts: z.array(name).default([]),
  saga: SagaConfig.prefault({}),
  missions: z
    .strictObject({
      evaluator_model: modelName.optional().describe('absent: the evaluator model of goals'),
      max_iterations: z.int().min(1).max(20).default(20).describe('default max rounds of a mission'),
      budget: SessionBudget.prefault({}).describe('default budget of a mission, for its whole session tree'),
    })
    .prefault({}),
  goals: z
    .strictObject({
      evaluator_model: modelName
        .optional()
        .describe('absent: the summary model, else the model of the agent'),
      max_tokens: z.int().positive().optional(),
      max_cost_usd: z.number().positive().optional(),
      max_minutes: z.number().positive().optional(),
    })
    .prefault({})
    .describe(
      'limits for one goal, counted from its definition; a goal that exceeds one fails within one model call',
    ),
  advisor: AdvisorConfig.prefault({}),
  review: ReviewConfig.prefault({}),
  inbox: AgentInboxConfig.prefault({}),
  workers: WorkersConfig.prefault({}),
  board: z.boolean().default(true).describe('whether the agent shares notes with other sessions of its tree'),
  governance: GovernanceConfig.prefault({}),
})
export type AgentConfig = z.infer<typeof AgentConfig>

export const ExpertConfig = z.strictObject({
  description: z.string(),
  model: modelName.optional(),
  system: z.string(),
  tools: z.array(z.string()).default([]),
  max_iterations: z.int().min(1).max(100).default(10),
})
export type ExpertConfig = z.infer<typeof ExpertConfig>

export const SandboxConfig = z
  .strictObject({
    terminal: z
      .enum(['boxed', 'unboxed'])
      .default('boxed')
      .describe('`unboxed`: commands have the rights of this server; `boxed`: no terminal without a sandbox'),
    provider: z
      .enum(['bubblewrap', 'container'])
      .default('bubblewrap')
      .describe('how sandboxes are created; container: by Podman, without a browser'),
    runtime: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'OCI runtime, a name that Podman knows or a path; runsc is gVisor; null: the default of Podman',
      ),
    image: z
      .string()
      .regex(/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/, 'must name an image by its digest: name@sha256:…')
      .nullable()
      .default(null)
      .describe('container image with bash, perl and coreutils; null: the programs of this machine'),
    network: z
      .enum(['none', 'proxy', 'open'])
      .default('proxy')
      .describe(
        'what a sandbox can reach. proxy: what governance.egress allows, through a proxy that checks every ' +
          'connection; open: everything that this machine can reach',
      ),
    ports: z
      .array(z.int().min(1).max(65_535))
      .default([])
      .describe('ports besides 80 and 443 that the proxy connects to'),
    memory_mb: z.int().min(64).default(2048).describe('max memory of all processes of a command'),
    pids: z.int().min(16).default(512).describe('max processes of a command at a time'),
    cpus: z
      .number()
      .positive()
      .default(2)
      .describe('max processors; applies only if a control group is delegated'),
    file_mb: z.int().positive().default(1024).describe('max size of one file that a command writes'),
    open_files: z.int().min(64).default(4096).describe('max open files of one process'),
    workspace_mb: z.int().positive().default(2048).describe('max disk space of a workspace'),
    workspace_files: z.int().positive().default(50_000).describe('max files and folders of a workspace'),
    tmp_mb: z.int().positive().default(512).describe('max size of /tmp in a sandbox; it uses memory'),
  })
  .refine(({ terminal, network }) => terminal === 'boxed' || network === 'open', {
    path: ['network'],
    error: 'must be open if sandbox.terminal is `unboxed`: such commands use the network of this machine',
  })
  .refine(({ provider, runtime, image }) => provider === 'container' || (runtime ?? image) === null, {
    path: ['provider'],
    error: 'must be container if sandbox.runtime or sandbox.image is set',
  })
  .describe('isolation and limits of terminal commands')
export type SandboxConfig = z.infer<typeof SandboxConfig>

export const BrowserConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    executable: z
      .string()
      .min(1)
      .default('chromium')
      .describe('a program in a folder that sandboxes can read'),
    cdp: z
      .strictObject({ url_env: envName })
      .nullable()
      .default(null)
      .describe('a remote browser: the environment variable that holds its CDP URL'),
    idle_minutes: z.number().positive().default(10).describe('idle time after which a browser is closed'),
    max: z.int().min(1).default(4).describe('max browsers of one runner at a time'),
    memory_mb: z.int().min(256).default(1536).describe('max memory of one browser with all its processes'),
    evaluate: z.boolean().default(false).describe('whether agents may run JavaScript in pages'),
    pdf: z.boolean().default(false).describe('whether agents may save pages as PDF'),
    secrets: z
      .record(name, z.strictObject({ value_env: envName, origins: z.array(z.url()).min(1) }))
      .default({})
      .describe('secrets that an agent can type as {{secret:name}} on these origins but cannot read'),
  })
  .describe('the browser of a session')
export type BrowserConfig = z.infer<typeof BrowserConfig>

export const SchedulesConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    tool: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether agents may create schedules; ask: a person approves each one'),
    timezone: z.string().default('UTC').describe('time zone of schedules that name none'),
    max_per_principal: z.int().positive().default(50),
    max_per_session: z.int().positive().default(10),
    max_running: z
      .int()
      .positive()
      .nullable()
      .default(3)
      .describe('max runs of one user or service account at a time; others wait'),
    expires_days: z
      .number()
      .positive()
      .default(7)
      .describe('days after which schedules of agents and /loop expire'),
    late_s: z.number().positive().default(300).describe('max delay with which a run still counts as on time'),
    max_failures: z.int().positive().default(5).describe('consecutive failures that pause a schedule'),
    keep_runs_days: z
      .number()
      .positive()
      .max(30)
      .default(7)
      .describe('days after its end until the session of a run is archived'),
  })
  .describe('scheduled runs of agents')
export type SchedulesConfig = z.infer<typeof SchedulesConfig>

export const CodeConfig = z
  .strictObject({
    default: name.default('cairn').describe('the agent of /code and run_coding_agent if none is named'),
    tool: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether agents may start coding runs; ask: a person approves each one'),
    max: z.int().positive().default(2).describe('max runs of one runner at a time; others wait'),
    minutes: z.number().positive().default(60).describe('max minutes that one process of a run may work'),
    max_cost_usd: z
      .number()
      .positive()
      .nullable()
      .default(5)
      .describe('max cost of a run, if its model has a price'),
    max_tokens: z.int().positive().nullable().default(null).describe('max input and output tokens of a run'),
    approval_wait_s: z
      .number()
      .nonnegative()
      .default(120)
      .describe('seconds that a run keeps its process while it waits for an approval; then it is parked'),
    agents: z
      .record(
        name,
        z.strictObject({
          command: z.string().optional().describe('absent: the known agent of that name'),
          args: z.array(z.string()).default([]),
          model: modelName.optional().describe('absent: the model of the session'),
          env: z.record(z.string(), z.string()).default({}),
        }),
      )
      .default({})
      .describe('agents besides the built-in one'),
    repos: z
      .record(
        name,
        z.strictObject({
          url: z
            .url({ protocol: /^https?$/ })
            .refine(url => new URL(url).username === '', 'must not contain a token: use token_env')
            .describe('URL of a Git repository, over HTTP'),
          token_env: envName
            .optional()
            .describe('environment variable that holds its token; absent: no token'),
          user: z.string().min(1).default('x-access-token').describe('user name that the token belongs to'),
        }),
      )
      .default({})
      .describe('repositories that a run can work in; their tokens stay outside its sandbox'),
    push: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether a run may push to its repository; ask: a person approves each push'),
  })
  .describe('coding agents that work in a sandbox')
export type CodeConfig = z.infer<typeof CodeConfig>

export const Config = z.strictObject({
  models: z
    .strictObject({
      default: modelName.optional(),
      providers: z.record(name, ProviderConfig).default({}),
      catalog: z.record(modelName, Rates).default({}),
    })
    .prefault({}),
  agents: z.record(name, AgentConfig).default({}),
  experts: z.record(name, ExpertConfig).default({}),
  governance: z
    .strictObject({
      log_allowed: z.boolean().default(false),
      service_accounts_decide: z
        .boolean()
        .default(true)
        .describe('whether service accounts may approve and reject; false: people only'),
    })
    .prefault({}),
  public_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .transform(url => url.replace(/\/$/, ''))
    .optional()
    .describe('URL of the web UI; links in emails and notifications begin with it'),
  disclosure: DisclosureConfig.prefault({}),
  channels: z
    .record(name, ChannelConfig)
    .default({})
    .describe('messaging channels, by a name that you choose'),
  notices: notificationsConfig(EgressConfig.prefault({}).describe('hosts that webhooks may call')).prefault(
    {},
  ),
  skills: z.string().optional().describe('a directory of skills, one folder with a SKILL.md each'),
  workspaces: z.string().min(1).optional().describe('a directory for workspaces, outside the data directory'),
  mcp_servers: mcpServers.default({}),
  sandbox: SandboxConfig.prefault({}),
  browser: BrowserConfig.prefault({}),
  schedules: SchedulesConfig.prefault({}),
  code: CodeConfig.prefault({}),
  research: ResearchLevels.prefault({}).describe(
    'branches without improvement until research is warned, redirected, ended',
  ),
  auth: z
    .strictObject({
      issuer: z.url().optional(),
      audience: z.string().optional(),
      jwks_url: z.url().optional(),
      trusted_proxies: z
        .array(
          z
            .string()
            .regex(/^[\da-fA-F.:]+(?:\/\d{1,3})?$/, 'must be an address or a network such as 10.0.0.0/8'),
        )
        .default([])
        .describe('addresses and networks whose X-Forwarded-For is trusted'),
      share_days: z
        .int()
        .min(0)
        .max(365)
        .default(0)
        .describe('days after which a share link of a session expires; 0: no share links'),
    })
    .prefault({}),
  limits: z
    .strictObject({
      llm_heartbeat_s: z.number().positive().default(15),
      llm_stale_s: z.number().positive().default(180),
      llm_stale_reasoning_s: z.number().positive().default(600),
      llm_call_s: z.number().positive().default(3600).describe('max duration of one model call'),
      llm_retries: z.int().min(0).max(10).default(3),
      delta_coalesce_ms: z.number().nonnegative().default(40),
      delta_keep_s: z.number().nonnegative().default(600),
      lease_s: z.number().positive().default(60),
      tool_timeout_s: z.number().positive().default(180),
      concurrent_turns: z.int().positive().default(50),
      tree_parallel: z
        .int()
        .positive()
        .default(8)
        .describe('max workers of one session tree that run at a time; others wait'),
      principal_turns: z
        .int()
        .positive()
        .nullable()
        .default(null)
        .describe('max turns of one user or service account that run at a time; null: no limit'),
      child_share: z
        .number()
        .positive()
        .max(1)
        .default(0.75)
        .describe('share of concurrent_turns that workers may use; at least one turn'),
      requests_per_minute: z.int().positive().default(6000),
      streams_per_principal: z
        .int()
        .positive()
        .default(1000)
        .describe('max open event streams of one user or service account in one process'),
      delegation_stale_s: z
        .number()
        .positive()
        .default(60)
        .describe('idle time after which a delegated worker is reported in the log of its parent'),
      delegation_stale_tool_s: z.number().positive().default(180).describe('the same while it runs a tool'),
      drain_s: z.number().nonnegative().default(20),
      archive_grace_s: z
        .number()
        .positive()
        .default(30)
        .describe('seconds that the files of an archived session are kept after a process finds it archived'),
      compact_at: z
        .number()
        .positive()
        .max(1)
        .default(0.75)
        .describe('share of the context window at which a conversation is summarised'),
    })
    .prefault({}),
})
export type Config = z.infer<typeof Config>
export type ConfigInput = z.input<typeof Config>
