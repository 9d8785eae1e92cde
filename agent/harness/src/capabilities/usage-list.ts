/** Usage of commands in Markdown, for replies: the syntax is code, so that its signs mean nothing. */

type Usage = { readonly usage: string; readonly does: string }

export const usageList = (commands: readonly Usage[]): string =>
  commands.map(({ usage, does }) => `- \`${usage}\`: ${does}`).join('\n')
