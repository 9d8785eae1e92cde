/** Problems of three steps. */
import {
  COST,
  EACH,
  EARNED,
  FILLED,
  FIRST,
  LEFT,
  NEEDED,
  NOW,
  SECOND,
  TOTAL,
  of,
  step,
  type Template,
} from './template.ts'
import {
  BOX,
  BUS,
  CLASS,
  DAY,
  EGG,
  FRIEND,
  HEN,
  METER,
  MINUTE,
  MONEY,
  ROLL,
  STUDENT,
  TEACHER,
  TIMES,
  TRAY,
  WEEK,
  howMany,
  moreRo,
} from './words.ts'

export const THREE_STEPS: readonly Template[] = [
  {
    id: 'two-goods',
    draw: ({ who, good, thing, counted }) => {
      const [a, b, c, d] = [
        counted(2, 15, good),
        counted(3, 30, MONEY),
        counted(2, 15, thing),
        counted(2, 12, MONEY),
      ]
      return {
        en:
          `${who.name} buys ${a.en} at ${b.en} each and ${c.en} at ${d.en} each. ${howMany(MONEY).en} ` +
          `does ${who.name} pay in total?`,
        ro:
          `${who.name} cumpără ${a.ro}, cu ${b.ro} bucata, și ${c.ro}, cu ${d.ro} bucata. ` +
          `${howMany(MONEY).ro} plătește ${who.name} în total?`,
        steps: [
          step(FIRST, a.n, '*', b.n, MONEY),
          step(SECOND, c.n, '*', d.n, MONEY),
          step(TOTAL, a.n * b.n, '+', c.n * d.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'change-of-two',
    draw: ({ who, good, counted }) => {
      const [m, a, b, c] = [
        counted(150, 900, MONEY),
        counted(3, 15, good),
        counted(4, 30, MONEY),
        counted(10, 120, MONEY),
      ]
      return {
        en:
          `${who.name} has ${m.en}. ${who.name} buys ${a.en} at ${b.en} each and a jacket for ` +
          `${c.en}. ${howMany(MONEY).en} are left?`,
        ro:
          `${who.name} are ${m.ro}. Cumpără ${a.ro}, cu ${b.ro} bucata, și o jachetă de ${c.ro}. ` +
          `${howMany(MONEY).ro} îi rămân?`,
        steps: [
          step(COST, a.n, '*', b.n, MONEY),
          step(TOTAL, a.n * b.n, '+', c.n, MONEY),
          step(LEFT, m.n, '-', a.n * b.n + c.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'egg-boxes',
    draw: ({ who, counted }) => {
      const [a, b, c, d] = [
        counted(8, 40, HEN),
        counted(5, 24, EGG),
        counted(6, 60, EGG),
        counted(4, 12, EGG),
      ]
      return {
        en:
          `${who.name} keeps ${a.en}, and each hen lays ${b.en} a month. ${who.name} uses ${c.en} at ` +
          `home and puts the rest into boxes of ${d.en}. ${howMany(BOX).en} does ${who.name} fill?`,
        ro:
          `${who.name} crește ${a.ro}, iar fiecare găină face ${b.ro} pe lună. Folosește acasă ` +
          `${c.ro}, iar restul le pune în cutii a câte ${d.ro}. ${howMany(BOX).ro} umple ${who.name}?`,
        steps: [
          step(TOTAL, a.n, '*', b.n, EGG),
          step(LEFT, a.n * b.n, '-', c.n, EGG),
          step(FILLED, a.n * b.n - c.n, '/', d.n, BOX),
        ],
      }
    },
  },
  {
    id: 'savings-and-gift',
    draw: ({ who, counted }) => {
      const [a, b, c, d] = [
        counted(12, 60, MONEY),
        counted(4, 16, WEEK),
        counted(20, 300, MONEY),
        counted(10, 150, MONEY),
      ]
      return {
        en:
          `${who.name} saves ${a.en} a week for ${b.en}, spends ${c.en}, and then gets ${d.en} as a ` +
          `gift. ${howMany(MONEY).en} does ${who.name} have now?`,
        ro:
          `${who.name} economisește ${a.ro} pe săptămână timp de ${b.ro}, cheltuiește ${c.ro}, apoi ` +
          `primește cadou ${d.ro}. ${howMany(MONEY).ro} are acum ${who.name}?`,
        steps: [
          step(EARNED, a.n, '*', b.n, MONEY),
          step(LEFT, a.n * b.n, '-', c.n, MONEY),
          step(NOW, a.n * b.n - c.n, '+', d.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'school-trip',
    draw: ({ counted, between }) => {
      const [a, b, c, seats] = [
        counted(3, 15, CLASS),
        counted(15, 32, STUDENT),
        counted(3, 40, TEACHER),
        between(12, 50),
      ]
      return {
        en:
          `${a.en} with ${b.en} each and ${c.en} go on a trip. A bus has ${seats} seats. ` +
          `${howMany(BUS).en} are filled completely, with nobody left over?`,
        ro:
          `Pleacă în excursie ${a.ro} cu câte ${b.ro} și încă ${c.ro}. Un autobuz are ` +
          `${seats}${seats >= 20 ? ' de' : ''} locuri. ${howMany(BUS).ro} se umplu complet, fără să ` +
          'rămână nimeni?',
        steps: [
          step(FIRST, a.n, '*', b.n, STUDENT),
          step(TOTAL, a.n * b.n, '+', c.n, {
            en: ['person', 'people'],
            ro: ['persoană', 'persoane'],
            gender: 'f',
          }),
          step(NEEDED, a.n * b.n + c.n, '/', seats, BUS),
        ],
      }
    },
  },
  {
    id: 'first-and-third',
    draw: ({ who, other, thing, counted }) => {
      const [a, b, c] = [counted(12, 110, thing), counted(2, 6, TIMES), counted(5, 60, thing)]
      return {
        en:
          `${who.name} has ${a.en}. ${other.name} has ${b.en} as many. Their cousin has ${c.en} fewer ` +
          `than ${other.name}. ${howMany(thing).en} do ${who.name} and the cousin have together?`,
        ro:
          `${who.name} are ${a.ro}. ${other.name} are de ${b.ro} ${moreRo(thing)} decât ${who.name}. ` +
          `Verișorul lor are cu ${c.ro} mai puțin decât ${other.name}. ${howMany(thing).ro} au împreună ` +
          `${who.name} și verișorul?`,
        steps: [
          step(of(other), a.n, '*', b.n, thing),
          step({ en: 'Cousin', ro: 'Verișor' }, a.n * b.n, '-', c.n, thing),
          step(TOTAL, a.n, '+', a.n * b.n - c.n, thing),
        ],
      }
    },
  },
  {
    id: 'bakery',
    draw: ({ counted }) => {
      const [a, b, c, d] = [
        counted(8, 30, TRAY),
        counted(12, 32, ROLL),
        counted(20, 200, ROLL),
        counted(20, 200, ROLL),
      ]
      return {
        en:
          `A bakery bakes ${a.en} with ${b.en} on each. It sells ${c.en} in the morning and ${d.en} ` +
          `in the afternoon. ${howMany(ROLL).en} are left in the evening?`,
        ro:
          `O brutărie coace ${a.ro} cu câte ${b.ro} pe fiecare. Dimineața vinde ${c.ro}, iar ` +
          `după-amiaza ${d.ro}. ${howMany(ROLL).ro} rămân seara?`,
        steps: [
          step(TOTAL, a.n, '*', b.n, ROLL),
          step(FIRST, a.n * b.n, '-', c.n, ROLL),
          step(LEFT, a.n * b.n - c.n, '-', d.n, ROLL),
        ],
      }
    },
  },
  {
    id: 'two-jobs',
    draw: ({ who, counted }) => {
      const [a, b, c, d] = [
        counted(20, 70, MONEY),
        counted(10, 50, MONEY),
        counted(4, 9, DAY),
        counted(30, 300, MONEY),
      ]
      return {
        en:
          `${who.name} earns ${a.en} a day in one job and ${b.en} a day in another. After ${c.en} in ` +
          `both jobs ${who.name} pays ${d.en} for rent. ${howMany(MONEY).en} are left?`,
        ro:
          `${who.name} câștigă ${a.ro} pe zi la un loc de muncă și ${b.ro} pe zi la altul. După ` +
          `${c.ro} la amândouă plătește o chirie de ${d.ro}. ${howMany(MONEY).ro} îi rămân?`,
        steps: [
          step(EACH, a.n, '+', b.n, MONEY),
          step(EARNED, a.n + b.n, '*', c.n, MONEY),
          step(LEFT, (a.n + b.n) * c.n, '-', d.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'practice',
    draw: ({ who, counted }) => {
      const [a, b, c, d] = [
        counted(15, 60, MINUTE),
        counted(5, 45, MINUTE),
        counted(4, 9, DAY),
        counted(10, 120, MINUTE),
      ]
      return {
        en:
          `${who.name} practises the piano for ${a.en} and the violin for ${b.en} every day. After ` +
          `${c.en} there are ${d.en} left to reach the goal. How many minutes is the goal?`,
        ro:
          `${who.name} exersează zilnic la pian ${a.ro} și la vioară ${b.ro}. După ${c.ro} mai ` +
          `lipsesc ${d.ro} până la țintă. De câte minute este ținta?`,
        steps: [
          step(EACH, a.n, '+', b.n, MINUTE),
          step(FIRST, a.n + b.n, '*', c.n, MINUTE),
          step(TOTAL, (a.n + b.n) * c.n, '+', d.n, MINUTE),
        ],
      }
    },
  },
  {
    id: 'fence',
    draw: ({ who, counted }) => {
      const [a, b, c] = [counted(6, 50, METER), counted(5, 45, METER), counted(3, 9, MONEY)]
      return {
        en:
          `${who.name} has a garden that is ${a.en} long and ${b.en} wide. A fence all around it ` +
          `costs ${c.en} a meter. ${howMany(MONEY).en} does the fence cost?`,
        ro:
          `${who.name} are o grădină lungă de ${a.ro} și lată de ${b.ro}. Un gard de jur împrejur ` +
          `costă ${c.ro} metrul. ${howMany(MONEY).ro} costă gardul?`,
        steps: [
          step(FIRST, a.n, '+', b.n, METER),
          step(TOTAL, a.n + b.n, '*', 2, METER),
          step(COST, (a.n + b.n) * 2, '*', c.n, MONEY),
        ],
      }
    },
  },
  {
    id: 'split-bill',
    draw: ({ good, counted }) => {
      const [a, b, c, d] = [
        counted(3, 20, good),
        counted(6, 40, MONEY),
        counted(10, 120, MONEY),
        counted(3, 12, FRIEND),
      ]
      return {
        en:
          `${d.en} buy ${a.en} at ${b.en} each and pay ${c.en} for delivery. They share the cost ` +
          `equally. ${howMany(MONEY).en} does each friend pay?`,
        ro:
          `${d.ro} cumpără ${a.ro}, cu ${b.ro} bucata, și plătesc ${c.ro} pentru livrare. Împart ` +
          `costul în mod egal. ${howMany(MONEY).ro} plătește fiecare prieten?`,
        steps: [
          step(COST, a.n, '*', b.n, MONEY),
          step(TOTAL, a.n * b.n, '+', c.n, MONEY),
          step(EACH, a.n * b.n + c.n, '/', d.n, MONEY),
        ],
      }
    },
  },
]
