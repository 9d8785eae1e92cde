/** Something that the configuration of an MCP server requires is missing: retrying cannot help. */
export class LeftOut extends Error {}
