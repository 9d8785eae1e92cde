/**
 * Checks the lists of tools and hosts in cairn.yaml. An entry that can match nothing is a mistake: in a
 * policy it would leave open what it seems to close.
 */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isNameOfServer, mcpToolPrefix } from '@cairn/harness/mcp-tool-name'
import { CODE_PERMISSIONS, type Config, findPattern, TOOL_NAMES } from '@cairn/protocol'
import { nearest } from '@cairn/tooling/cli/nearest'

type Path = readonly (string | number)[]
/** A problem with the value at a path of the file. */
export type Problem = { path: Path; message: string }
type Egress = Config['notices']['egress']

export const checkPatterns = (config: Config, isGiven: (path: Path) => boolean): Problem[] => [
  ...checkTools(config),
  ...checkEmptyLists(config, isGiven),
  ...egressOf(config).flatMap(([path, egress]) => checkHosts(path, egress, isGiven)),
]

const POLICY_LISTS = ['allowed_tools', 'denied_tools', 'require_approval'] as const

/** The lists whose entries are patterns. */
function* toolLists({ agents, experts, editing }: Config): Generator<[Path, readonly string[]]> {
  for (const key of POLICY_LISTS) yield [['editing', 'policy', key], editing.policy[key]]
  for (const [name, { tools, governance }] of Object.entries(agents)) {
    yield [['agents', name, 'tools'], tools ?? []]
    for (const key of POLICY_LISTS) yield [['agents', name, 'governance', key], governance[key]]
  }
  for (const [name, { tools }] of Object.entries(experts)) yield [['experts', name, 'tools'], tools]
}

/** Every tool name and pattern in the lists of agents and experts, and in their undo settings. */
export const toolsNamedIn = (config: Config): string[] => [
  ...new Set([
    ...[...toolLists(config)].flatMap(([, patterns]) => patterns),
    ...Object.values(config.agents).flatMap(({ saga }) =>
      Object.entries(saga.undo).flatMap(([tool, { tool: undoing }]) => [tool, undoing]),
    ),
  ]),
]

function checkTools(config: Config): Problem[] {
  const servers = Object.keys(config.mcp_servers)
  const isCode = ([section, , , key]: Path): boolean =>
    section === 'editing' || (section === 'agents' && key !== undefined)
  const lists = [...toolLists(config)].flatMap(([path, patterns]) => {
    const known = isCode(path) ? [...TOOL_NAMES, ...CODE_PERMISSIONS] : TOOL_NAMES
    return patterns.flatMap((pattern, at) =>
      problemAt([...path, at], patternProblem(pattern, known, servers)),
    )
  })
  const undo = Object.entries(config.agents).flatMap(([name, { saga }]) =>
    Object.entries(saga.undo).flatMap(([tool, { tool: undoing }]) => {
      const path = ['agents', name, 'saga', 'undo', tool]
      return [
        ...problemAt(path, nameProblem(tool, TOOL_NAMES, servers)),
        ...problemAt([...path, 'tool'], nameProblem(undoing, TOOL_NAMES, servers)),
      ]
    }),
  )
  return [...lists, ...undo]
}

const problemAt = (path: Path, message: string | null): Problem[] =>
  message === null ? [] : [{ path, message }]

function patternProblem(
  pattern: string,
  known: readonly string[],
  servers: readonly string[],
): string | null {
  const star = pattern.indexOf('*')
  if (star === -1 || pattern === '*') return nameProblem(pattern, known, servers)
  if (star < pattern.length - 1)
    return (
      `"${pattern}" has a * at character ${star + 1}: ` +
      '* is allowed only at the end of a pattern. Write whole names, or the beginning of names ' +
      'followed by *'
    )
  const beginning = pattern.slice(0, -1)
  const matches =
    known.some(name => findPattern([pattern], name) !== undefined) ||
    'mcp__'.startsWith(beginning) ||
    servers.some(server => mcpToolPrefix(server).startsWith(beginning) || isNameOfServer(beginning, server))
  return matches ? null : `no tool name begins with "${beginning}"${hintAt(beginning, known, servers)}`
}

function nameProblem(name: string, known: readonly string[], servers: readonly string[]): string | null {
  if (name === '*' || known.includes(name) || servers.some(server => isNameOfServer(name, server)))
    return null
  if (name.trim() === '') return 'an empty name matches no tool: remove it, or enter a tool name'
  return `unknown tool "${name}"${hintAt(name, known, servers)}`
}

function hintAt(name: string, known: readonly string[], servers: readonly string[]): string {
  const server = /^mcp__(.+?)(?:__|$)/.exec(name)?.[1]
  if (server !== undefined) {
    const meant = nearest(server, servers)
    const there = servers.length === 0 ? 'has no server' : `has ${servers.join(', ')}`
    return meant === undefined
      ? ` (mcp_servers ${there})`
      : ` (did you mean "${name.replace(`mcp__${server}`, `mcp__${meant}`)}"?)`
  }
  const meant = nearest(name.trim(), known)
  return meant === undefined ? ' (docs/tools.md lists them)' : ` (did you mean "${meant}"?)`
}

/**
 * An empty `tools` list gives an agent no tools, and an empty denied or approval list equals a missing one.
 * An empty allow list would allow everything, which is never intended.
 */
const checkEmptyLists = ({ agents, editing }: Config, isGiven: (path: Path) => boolean): Problem[] =>
  [
    [['editing', 'policy'], editing.policy] as const,
    ...Object.entries(agents).map(
      ([name, { governance }]) => [['agents', name, 'governance'], governance] as const,
    ),
  ].flatMap(([at, governance]) => {
    const path = [...at, 'allowed_tools']
    return governance.allowed_tools.length === 0 && isGiven(path)
      ? [
          {
            path,
            message:
              'an empty list allows every tool: remove the key, list the allowed tools, or write ' +
              'denied_tools: ["*"] to allow none',
          },
        ]
      : []
  })

/** Every list of hosts, with its path. */
export const egressOf = (config: Config): [Path, Egress][] => [
  ...Object.entries(config.agents).map(([name, { governance }]): [Path, Egress] => [
    ['agents', name, 'governance', 'egress'],
    governance.egress,
  ]),
  [['notices', 'egress'], config.notices.egress],
  [['editing', 'policy', 'egress'], config.editing.policy.egress],
  ...Object.entries(config.mcp_servers).flatMap(([name, server]): [Path, Egress][] =>
    'egress' in server ? [[['mcp_servers', name, 'egress'], server.egress]] : [],
  ),
]

function checkHosts(path: Path, egress: Egress, isGiven: (path: Path) => boolean): Problem[] {
  const allow = [...path, 'allow']
  return [
    ...(['allow', 'deny'] as const).flatMap(key =>
      egress[key].flatMap((pattern, at) => problemAt([...path, key, at], hostProblem(pattern))),
    ),
    ...problemAt(
      allow,
      egress.default === 'allow' && isGiven(allow)
        ? 'the list has no effect while default is allow: add default: deny, or remove the list'
        : null,
    ),
  ]
}

function hostProblem(pattern: string): string | null {
  const host = pattern.trim().replace(/\.$/, '')
  if (host === '') return 'an empty name matches no host: remove it, or enter a host name'
  if (host === '*' || isIP(host.replace(/^\[|\]$/g, '')) !== 0) return null
  const name = host.startsWith('*.') ? host.slice(2) : host
  const star = name.indexOf('*')
  if (star !== -1)
    return (
      `"${pattern}" has a * at character ${pattern.lastIndexOf('*') + 1}: ` +
      'in a host pattern * is allowed only at the beginning (*.example.org) or alone'
    )
  if (/[\s/:@?#]/.test(name))
    return `"${pattern}" is not a host name: remove the scheme, port, path or network prefix`
  const ascii = domainToASCII(name)
  return ascii === name.toLowerCase()
    ? null
    : `"${pattern}" matches no host: write it as "${ascii}", its form in URLs`
}
