/** The plugins that parse and render formulas, loaded with the first text that may contain one. */
import rehypeKatex from 'rehype-katex'
import remarkMath from 'remark-math'

/**
 * An invalid formula is shown as its source. The output is MathML: it needs no fonts and no style attributes,
 * which the policy of the page blocks.
 */
export const READ_MATHS = [remarkMath, { singleDollarTextMath: false }] as const
export const DRAW_MATHS = [
  rehypeKatex,
  {
    output: 'mathml',
    throwOnError: false,
    errorColor: 'currentColor',
    trust: false,
    maxExpand: 200,
    maxSize: 20,
  },
] as const
