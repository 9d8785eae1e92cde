/**
 * The schema of cairn.yaml with its defaults. Every key is optional and an unknown key is an error;
 * `agent/app` reads the file and suggests the nearest known key. The file never holds secrets, only the names
 * of environment variables that do.
 */
import { z } from 'zod'
import { ChannelConfig, DisclosureConfig } from './channel-config.ts'
import { noticesConfig } from './notices-config.ts'
import { ResearchLevels } from './research.ts'

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be of letters, digits, dot, dash and underscore only')
const modelName = z.string().regex(/^[^/\s]+\/\S+$/, 'must read <provider>/<model>')
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
    .describe('host names; never opens a private address, whatever the name leads to'),
  deny: z.array(z.string()).default([]),
  internal: z
    .array(
      z
        .string()
        .regex(/^[^*]+$/, 'must be a host name or an address in full, without a wildcard')
        .regex(
          /^(?:[^:]*|[\d.]+:\d+|\[[^\]]+\](?::\d+)?|[^.[]*:[^[]*:[^[]*)$/,
          'has a port behind a name: an address may have one (127.0.0.1:8080), a name opens all of its ports',
        ),
    )
    .default([])
    .describe(
      'host names and addresses that may be private ones; an address with a port opens that port only',
    ),
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
          message: `has tools of the same names as ${other}: a dot is a "_" in names of tools`,
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
  .describe('definitions by name of the tool: other tools, and other definitions, are left out and logged')

export const McpServerConfig = z.union([
  z.strictObject({
    command: z.string(),
    args: z.array(z.string()).default([]),
    env: z.array(envName).default([]).describe('variables handed on by name'),
    read_only: z.array(z.string()).default([]),
    pin,
    max_answer_mb: maxAnswerMb,
    sandbox: z
      .enum(['box', 'none'])
      .default('box')
      .describe('none: it has the rights of this server; box: where there is no box it is left out'),
    network: z
      .enum(['none', 'proxy', 'open'])
      .optional()
      .describe('of its box, and no more than sandbox.network; absent: that'),
    egress: EgressConfig.prefault({}).describe('what its box reaches through the proxy'),
    files: z
      .array(z.string().regex(/^\//, 'must be an absolute path'))
      .default([])
      .describe('files and folders that its box sees beside the system, to be read only'),
    memory_mb: z.int().min(64).optional().describe('of all its processes; absent: sandbox.memory_mb'),
    pids: z.int().min(16).optional().describe('processes at once; absent: sandbox.pids'),
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
          .describe('{{arguments.x}} and {{result.x}} stand for what the call was given and gave'),
      }),
    )
    .default({})
    .describe('by name of a tool: the tool that takes its effect back'),
})

export const AdvisorConfig = z
  .strictObject({
    model: modelName.optional().describe('absent: no advisor'),
    every_iterations: z.int().min(1).default(10).describe('within a turn, an opinion on the work so far'),
    before_finish: z
      .boolean()
      .default(true)
      .describe('a last look at a turn that used tools, before it ends'),
    max_per_turn: z.int().min(1).max(20).default(2),
    max_tokens: z.int().positive().default(700),
    timeout_s: z.number().positive().default(20),
  })
  .describe('a second model that looks over the shoulder of the first and advises it')
export type AdvisorConfig = z.infer<typeof AdvisorConfig>

export const ReviewConfig = z
  .strictObject({
    memory: z
      .boolean()
      .default(false)
      .describe('what is worth remembering of the user goes into a memory file'),
    skills: z
      .boolean()
      .default(false)
      .describe('procedures worth keeping are proposed as skills; the accepted ones are offered'),
    every_turns: z.int().min(1).default(5),
    model: modelName.optional().describe('absent: the summary model, else the model of the agent'),
    max_tokens: z.int().positive().default(2000),
    timeout_s: z.number().positive().default(120),
  })
  .describe('a look back over the session, in the background, after so many turns')
export type ReviewConfig = z.infer<typeof ReviewConfig>

export const AgentInboxConfig = z
  .strictObject({
    checkin_minutes: z.number().positive().default(30),
    checkin_iterations: z.int().min(1).optional(),
    task_complete_minutes: z
      .number()
      .nonnegative()
      .default(10)
      .describe('work that took so long is announced when it is over; 0: all work'),
  })
  .describe('when an agent tells of itself')
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
      .describe('from the moment a worker first takes it up; at most a year'),
  })
  .describe('what a session and all below it may use')
export type SessionBudget = z.infer<typeof SessionBudget>

export const WorkersConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    agents: z
      .array(z.string())
      .default(['self'])
      .describe('agents that a worker may be; self: the same as its parent'),
    models: z
      .array(modelName)
      .default([])
      .describe('models that a worker may be given beside that of its agent'),
    max_depth: z.int().min(1).max(8).default(2).describe('1: workers have no workers of their own'),
    max_open: z.int().min(1).max(64).default(8).describe('workers of one session at a time'),
    max_total: z.int().min(1).max(1000).default(50).describe('workers of a whole tree within 24 hours'),
    max_iterations: z.int().min(1).max(1000).default(30).describe('of one worker'),
    may_ask: z.boolean().default(true).describe('whether a worker may ask the user'),
    budget: z
      .strictObject({
        max_tokens: z.int().min(2000).nullable().default(500_000),
        max_cost_usd: z.number().positive().nullable().default(null),
        max_minutes: z.number().positive().nullable().default(30),
      })
      .prefault({})
      .describe(
        'of one worker and all below it, at most its share of what is left to its parent; null: no limit',
      ),
  })
  .describe('sessions that the agent makes to work for it')
export type WorkersConfig = z.infer<typeof WorkersConfig>

export const AgentConfig = z.strictObject({
  description: z
    .string()
    .optional()
    .describe('what it is good for: told to agents that may have it as a worker'),
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
      evaluator_model: modelName.optional().describe('absent: that of goals'),
      max_iterations: z.int().min(1).max(20).default(20).describe('rounds of a mission that says nothing'),
      budget: SessionBudget.prefault({}).describe('of a mission that says nothing, over its whole tree'),
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
      'budgets of one goal, counted from its definition; a goal beyond one of them fails within one call',
    ),
  advisor: AdvisorConfig.prefault({}),
  review: ReviewConfig.prefault({}),
  inbox: AgentInboxConfig.prefault({}),
  workers: WorkersConfig.prefault({}),
  board: z.boolean().default(true).describe('whether it shares notes with the other sessions of its tree'),
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
      .describe(
        'unboxed: commands have the rights of this server; boxed: without a box there is no terminal',
      ),
    provider: z
      .enum(['bubblewrap', 'container'])
      .default('bubblewrap')
      .describe('what makes the boxes; container: podman, without a browser'),
    runtime: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('of containers, a name that podman knows or a path: runsc is gVisor; null: its own choice'),
    image: z
      .string()
      .regex(/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/, 'must name an image by its digest: name@sha256:…')
      .nullable()
      .default(null)
      .describe('of containers, with bash, perl and coreutils; null: the programs of this machine'),
    network: z
      .enum(['none', 'proxy', 'open'])
      .default('proxy')
      .describe(
        'what a box can reach; proxy: what governance.egress allows, through a proxy that judges every ' +
          'connection; open: all that this machine can',
      ),
    ports: z
      .array(z.int().min(1).max(65_535))
      .default([])
      .describe('ports beside 80 and 443 that the proxy connects to'),
    memory_mb: z.int().min(64).default(2048).describe('of all processes of a command together'),
    pids: z.int().min(16).default(512).describe('processes of a command at once'),
    cpus: z.number().positive().default(2).describe('processors; only where a control group is delegated'),
    file_mb: z.int().positive().default(1024).describe('one file that a command writes'),
    open_files: z.int().min(64).default(4096).describe('of one process'),
    workspace_mb: z.int().positive().default(2048).describe('all files of a workspace, on disk'),
    workspace_files: z.int().positive().default(50_000).describe('files and folders of a workspace'),
    tmp_mb: z.int().positive().default(512).describe('/tmp of a box; it is memory'),
  })
  .refine(({ terminal, network }) => terminal === 'boxed' || network === 'open', {
    path: ['network'],
    error:
      'must be open where sandbox.terminal is unboxed, for such a command has the network of this machine',
  })
  .refine(({ provider, runtime, image }) => provider === 'container' || (runtime ?? image) === null, {
    path: ['provider'],
    error: 'must be container where sandbox.runtime or sandbox.image is set',
  })
  .describe('what the commands of the terminal run in')
export type SandboxConfig = z.infer<typeof SandboxConfig>

export const BrowserConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    executable: z.string().min(1).default('chromium').describe('a program in a folder that boxes see'),
    cdp: z
      .strictObject({ url_env: envName })
      .nullable()
      .default(null)
      .describe('a browser elsewhere in place of one here: the variable that has its CDP address'),
    idle_minutes: z.number().positive().default(10).describe('without use, then it is closed'),
    max: z.int().min(1).default(4).describe('browsers of one worker at a time'),
    memory_mb: z.int().min(256).default(1536).describe('of one browser and all its processes'),
    evaluate: z.boolean().default(false).describe('whether agents may run JavaScript of their own in pages'),
    pdf: z.boolean().default(false).describe('whether agents may save pages as PDF'),
    secrets: z
      .record(name, z.strictObject({ value_env: envName, origins: z.array(z.url()).min(1) }))
      .default({})
      .describe('what an agent may type as {{secret:name}} on these origins, without reading it'),
  })
  .describe('the browser of a session')
export type BrowserConfig = z.infer<typeof BrowserConfig>

export const SchedulesConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    tool: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether agents may make schedules themselves; ask: a person approves each'),
    timezone: z.string().default('UTC').describe('of cron expressions that name none'),
    max_per_principal: z.int().positive().default(50),
    max_per_session: z.int().positive().default(10),
    max_running: z
      .int()
      .positive()
      .nullable()
      .default(3)
      .describe('runs of one user or service account at a time; the others wait'),
    expires_days: z.number().positive().default(7).describe('of what agents and /loop make'),
    late_s: z.number().positive().default(300).describe('so late a slot still counts as on time'),
    max_failures: z.int().positive().default(5).describe('so many in a row pause a schedule'),
    keep_runs_days: z
      .number()
      .positive()
      .max(30)
      .default(7)
      .describe('so long after its end the session of a run is archived'),
  })
  .describe('runs of an agent at times')
export type SchedulesConfig = z.infer<typeof SchedulesConfig>

export const CodeConfig = z
  .strictObject({
    default: name.default('cairn').describe('the agent of /code and run_coding_agent that is not named'),
    tool: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether agents may begin runs themselves; ask: a person approves each'),
    max: z.int().positive().default(2).describe('runs at a time in one worker; the others wait in line'),
    minutes: z.number().positive().default(60).describe('the longest that one process of a run may work'),
    max_cost_usd: z
      .number()
      .positive()
      .nullable()
      .default(5)
      .describe('of a run, where its model has a price'),
    max_tokens: z.int().positive().nullable().default(null).describe('of a run, in and out'),
    approval_wait_s: z
      .number()
      .nonnegative()
      .default(120)
      .describe('so long a run keeps its process while a person is asked; then it is parked'),
    agents: z
      .record(
        name,
        z.strictObject({
          command: z.string().optional().describe('absent: the agent of that name that is known'),
          args: z.array(z.string()).default([]),
          model: modelName.optional().describe('absent: the model of the session'),
          env: z.record(z.string(), z.string()).default({}),
        }),
      )
      .default({})
      .describe('agents beside the built-in one'),
    repos: z
      .record(
        name,
        z.strictObject({
          url: z
            .url({ protocol: /^https?$/ })
            .refine(
              url => new URL(url).username === '',
              'its token goes into token_env, not into the address',
            )
            .describe('of a git repository, over HTTP'),
          token_env: envName.optional().describe('the variable that has its token; absent: it needs none'),
          user: z.string().min(1).default('x-access-token').describe('that the token is the password of'),
        }),
      )
      .default({})
      .describe('repositories that a run can work in; their tokens stay outside its box'),
    push: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether a run may push to its repository; ask: a person approves each push'),
  })
  .describe('coding agents that work in a box')
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
    .describe('under which people reach the web UI: links in mails and notices begin with it'),
  disclosure: DisclosureConfig.prefault({}),
  channels: z.record(name, ChannelConfig).default({}).describe('messaging channels, by a name of yours'),
  notices: noticesConfig(EgressConfig.prefault({}).describe('where webhooks of people may go')).prefault({}),
  skills: z.string().optional().describe('a directory of skills, one folder with a SKILL.md each'),
  workspaces: z
    .string()
    .min(1)
    .optional()
    .describe('a directory for the workspaces of the sessions, apart from the data directory'),
  mcp_servers: mcpServers.default({}),
  sandbox: SandboxConfig.prefault({}),
  browser: BrowserConfig.prefault({}),
  schedules: SchedulesConfig.prefault({}),
  code: CodeConfig.prefault({}),
  research: ResearchLevels.prefault({}).describe('when research that adds nothing is told so, turned, ended'),
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
        .describe('addresses and networks whose X-Forwarded-For says who asks'),
      share_days: z
        .int()
        .min(0)
        .max(365)
        .default(0)
        .describe('so many days a link lives that shows a session to whoever has it; 0: there are none'),
    })
    .prefault({}),
  limits: z
    .strictObject({
      llm_heartbeat_s: z.number().positive().default(15),
      llm_stale_s: z.number().positive().default(180),
      llm_stale_reasoning_s: z.number().positive().default(600),
      llm_call_s: z
        .number()
        .positive()
        .default(3600)
        .describe('the longest that one call of a model may take'),
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
        .describe('workers of one tree of sessions that run at a time; the others wait their turn'),
      principal_turns: z
        .int()
        .positive()
        .nullable()
        .default(null)
        .describe('turns of one user or service account that run at a time; null: no limit'),
      child_share: z
        .number()
        .positive()
        .max(1)
        .default(0.75)
        .describe('part of the places of a process that workers may take, at least one place'),
      requests_per_minute: z.int().positive().default(6000),
      streams_per_principal: z
        .int()
        .positive()
        .default(1000)
        .describe('event streams that one user or service account has open at a time, in one process'),
      delegation_stale_s: z
        .number()
        .positive()
        .default(60)
        .describe("so long a delegated worker is silent before its parent's log tells of it"),
      delegation_stale_tool_s: z.number().positive().default(180).describe('the same, while it is in a tool'),
      drain_s: z.number().nonnegative().default(20),
      archive_grace_s: z
        .number()
        .positive()
        .default(30)
        .describe(
          'seconds for which the files of an archived session stay after a process found it archived',
        ),
      compact_at: z
        .number()
        .positive()
        .max(1)
        .default(0.75)
        .describe('part of the context window at which a conversation is summarised'),
    })
    .prefault({}),
})
export type Config = z.infer<typeof Config>
export type ConfigInput = z.input<typeof Config>
