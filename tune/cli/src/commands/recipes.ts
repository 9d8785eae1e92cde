import { MATMULS, RECIPES, RECIPE_TABLE, recipesText } from '@cairn-tune/train'
import { defineCommand } from '../command.ts'
import { EXIT } from '../exit.ts'

export const recipes = defineCommand({
  name: 'recipes',
  summary: 'Show the storage and operand formats of every matmul in every recipe',
  usage: [['recipes', 'print one row per recipe and matmul format']],
  options: {},
  async run({ values }, io) {
    io.out(
      values.json
        ? `${JSON.stringify({
            recipes: Object.fromEntries(RECIPES.map(name => [name, RECIPE_TABLE[name]])),
            matmuls: MATMULS,
          })}\n`
        : recipesText(),
    )
    return EXIT.ok.code
  },
})
