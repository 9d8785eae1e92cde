/** Tools that no allow-list removes from an agent, because its place in a tree of sessions requires them. */
type Listed = { tools?: string[] | undefined; governance: { allowed_tools: string[] } }

/** Denied tools stay denied. */
export function alwaysAllow<A extends Listed>(agent: A, names: readonly string[]): A {
  const { governance, tools } = agent
  const allowed = governance.allowed_tools
  return {
    ...agent,
    ...(tools === undefined ? {} : { tools: [...tools, ...names] }),
    governance: {
      ...governance,
      allowed_tools: allowed.length === 0 ? allowed : [...allowed, ...names],
    },
  }
}
