/** What the configuration of an MCP server asks for is not there: no retry can help. */
export class LeftOut extends Error {}
