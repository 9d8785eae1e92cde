/** Finds the route of a path in the contract's table, with one lookup per segment. */
import { AppError, ROUTES, type Route, type RouteName } from '@cairn/protocol'

export type Match = {
  name: RouteName
  route: Route
  params: Record<string, string>
  /** Requested under /v1/api. */ viaApi: boolean
}
type Found = { match: Match } | { allow: string[] } | null

type Leaf = { name: RouteName; route: Route; keys: readonly string[] }
type Node = { fixed: Map<string, Node>; any: Node | null; leaves: Map<string, Leaf> }
const newNode = (): Node => ({ fixed: new Map(), any: null, leaves: new Map() })

function plant(names: readonly RouteName[]): Node {
  const root = newNode()
  for (const name of names) {
    const route: Route = ROUTES[name]
    const keys: string[] = []
    let node = root
    for (const segment of route.path.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        keys.push(segment.slice(1, -1))
        node = node.any ??= newNode()
      } else {
        const next = node.fixed.get(segment) ?? newNode()
        node.fixed.set(segment, next)
        node = next
      }
    }
    node.leaves.set(route.method, { name, route, keys })
  }
  return root
}

const NAMES = Object.keys(ROUTES) as RouteName[]
const ROOT = plant(NAMES)
const ALIASES = plant(NAMES.filter(name => ROUTES[name].alias))
const API = '/v1/api/'
const V1 = '/v1/'

/**
 * The route; or the methods that the path allows; or null if the path does not exist. A fixed segment wins
 * over a parameter. HEAD uses the GET route, and a trailing slash is ignored.
 */
export function findRoute(method: string, path: string): Found {
  const viaApi = path.startsWith(API)
  if (!viaApi && !path.startsWith(V1)) return null
  let node: Node | null = viaApi ? ALIASES : ROOT
  const values: string[] = []
  const end = path.endsWith('/') ? path.length - 1 : path.length
  for (const segment of path.slice(viaApi ? API.length : V1.length, end).split('/')) {
    const fixed: Node | undefined = node.fixed.get(segment)
    if (fixed !== undefined) node = fixed
    else if (node.any !== null && segment !== '') {
      node = node.any
      values.push(segment)
    } else return null
  }
  if (node.leaves.size === 0) return null
  const leaf = node.leaves.get(method === 'HEAD' ? 'GET' : method)
  if (leaf === undefined)
    return { allow: [...node.leaves.keys()].flatMap(each => (each === 'GET' ? ['GET', 'HEAD'] : [each])) }
  const params: Record<string, string> = {}
  for (let at = 0; at < values.length; at++)
    params[leaf.keys[at] as string] = decodeSegment(values[at] as string)
  return { match: { name: leaf.name, route: leaf.route, params, viaApi } }
}

function decodeSegment(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw new AppError(
      'bad_request',
      `Invalid path: ${JSON.stringify(text)} is not valid percent-encoding.`,
      { cause: error },
    )
  }
}
