import type { McpServerConfig } from '@cairn/protocol'

export const maxAnswerBytes = ({ max_answer_mb }: McpServerConfig): number => max_answer_mb * 1024 * 1024
