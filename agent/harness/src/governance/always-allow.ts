/** Tools that no allow-list takes from an agent, because its place in a tree of sessions asks for them. */
type Listed = { tools?: string[] | undefined; governance: { allowed_tools: string[] } }

/** What is denied stays denied. */
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
