/**
 * How each coding agent is started, and how it is configured to reach its model at the broker, with the run's
 * token instead of a key. Pure. Versions are the tested ones; `cairn code install` fetches them.
 */
export type Model = {
  kind: 'openai' | 'anthropic'
  /** URL of the broker from inside the sandbox. */
  base_url: string
  token: string
  /** The provider's name of the model. */
  model: string
  context_window: number
  /** Tools of the built-in agent that ask before each call. */
  ask: readonly string[]
}

export type Launch = {
  argv: readonly string[]
  env: Readonly<Record<string, string>>
  /** Files below its home, by path. */
  files: Readonly<Record<string, string>>
}

export type KnownAgent = {
  /** The package that `cairn code install` fetches; null: it is part of this program. */
  package: { name: string; version: string; bin: string; args: readonly string[] } | null
  /** The kinds of model servers that it supports. */
  speaks: readonly Model['kind'][]
  settings(model: Model): Pick<Launch, 'env' | 'files'>
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

export const KNOWN_AGENTS: Readonly<Record<string, KnownAgent>> = {
  cairn: {
    package: null,
    speaks: ['openai', 'anthropic'],
    settings: ({ kind, base_url, model, context_window, token, ask }) => ({
      env: {
        CAIRN_BOX: JSON.stringify({ kind, base_url, model, context_window, ask }),
        CAIRN_RUN_TOKEN: token,
      },
      files: {},
    }),
  },
  claude: {
    package: {
      name: '@agentclientprotocol/claude-agent-acp',
      version: '0.100.0',
      bin: 'claude-agent-acp',
      args: [],
    },
    speaks: ['anthropic'],
    settings: ({ base_url, token, model }) => ({
      env: { ANTHROPIC_BASE_URL: base_url, ANTHROPIC_API_KEY: token, ANTHROPIC_MODEL: model },
      files: {},
    }),
  },
  codex: {
    package: { name: '@agentclientprotocol/codex-acp', version: '2.6.0', bin: 'codex-acp', args: [] },
    speaks: ['openai'],
    settings: ({ base_url, token, model }) => ({
      env: { CAIRN_RUN_TOKEN: token },
      files: {
        '.codex/config.toml':
          `model = ${JSON.stringify(model)}\nmodel_provider = "cairn"\n\n[model_providers.cairn]\n` +
          `name = "Cairn"\nbase_url = ${JSON.stringify(base_url)}\nenv_key = "CAIRN_RUN_TOKEN"\n`,
      },
    }),
  },
  opencode: {
    package: { name: 'opencode-ai', version: '1.18.33', bin: 'opencode', args: ['acp'] },
    speaks: ['openai'],
    settings: ({ base_url, token, model, context_window }) => ({
      env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
      files: {
        '.config/opencode/opencode.json': json({
          $schema: 'https://opencode.ai/config.json',
          autoupdate: false,
          share: 'disabled',
          model: `cairn/${model}`,
          small_model: `cairn/${model}`,
          enabled_providers: ['cairn'],
          permission: { edit: 'ask', bash: 'ask', webfetch: 'ask' },
          provider: {
            cairn: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Cairn',
              options: { baseURL: base_url, apiKey: token },
              models: { [model]: { name: model, limit: { context: context_window, output: 8192 } } },
            },
          },
        }),
      },
    }),
  },
}
