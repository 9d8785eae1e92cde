/** Conversations, and what a chat template makes of them. */
export type ChatMessage = { role: string; content?: unknown; [key: string]: unknown }
export type Chat = {
  messages: readonly ChatMessage[]
  tools?: readonly unknown[] | undefined
  /** Indices of assistant messages that are shown and not trained on. */
  untrained?: readonly number[] | undefined
}
/** The chat templates of a model, by name. */
export type ChatTemplates = Readonly<Record<string, string>>
export type RenderOptions = {
  addGenerationPrompt?: boolean
  /** Leaves the last message open, so that the answer continues it. */
  continueFinalMessage?: boolean
  variables?: Record<string, unknown>
}

/** Start and end, as indices of the text. */
export type Span = readonly [start: number, end: number]

/** A rendering, and the parts that the template marks with `{% generation %}`. */
export type MarkedText = { text: string; marks: readonly Span[] | undefined }
export type RenderMarked = (chat: Chat, options?: RenderOptions) => MarkedText
