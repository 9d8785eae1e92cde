/** The repository of a run, from its configuration: login, broker and path. */
import type { Config } from '@cairn/protocol'
import type { Fetch } from '@cairn/models'
import type { AgentStart } from './agent-process.ts'
import { type Checkout, checkoutIn, gitSettings } from './checkout.ts'
import { createGitBroker, type GitBroker } from './git-broker.ts'

export type RunRepo = {
  broker: GitBroker
  checkout: Checkout
  /** Absolute path in which the agent works. */
  cwd: string
  /** Git's settings in its sandbox. */
  settings: string
}

type Deps = {
  config: Config
  env: Readonly<Record<string, string | undefined>>
  fetch: Fetch
}

/** Null: it works in the workspace. */
export function openRunRepo(
  { config, env, fetch }: Deps,
  { repo, workspace, onPush }: AgentStart,
): RunRepo | null {
  if (repo === null) return null
  const { name, branch } = repo
  const known = config.code.repos[name]
  if (known === undefined) throw new Error(`code.repos no longer has "${name}"`)
  const { url, user, token_env } = known
  const token = token_env === undefined ? undefined : env[token_env]
  if (token_env !== undefined && !token)
    throw new Error(`the repository ${name} needs its token in the environment variable ${token_env}`)
  return {
    broker: createGitBroker({
      repo: name,
      url,
      login: token === undefined ? null : { user, token },
      fetch,
      judge: onPush,
    }),
    checkout: { repo: name, url, branch },
    cwd: checkoutIn(workspace, name, branch),
    settings: gitSettings({ repo: name, url }),
  }
}
