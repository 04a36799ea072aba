import ts from 'typescript';

/** Returns an expression without its type assertions. */
const asserted = (node) =>
  node.type === 'TSAsExpression' || node.type === 'TSNonNullExpression' ? asserted(node.expression) : node;

/**
 * An ESLint rule. Text from outside can be `constructor`, `toString` or `__proto__`, which every plain object inherits. The rule reports a
 * member that text selects, unless `Object.hasOwn` is called with the same object and the same text in a condition around it.
 */
export const ownMembers = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      inherited:
        '{{text}} can be the name of an inherited member, such as constructor: use ownMember(), Object.hasOwn() or a Map.',
    },
  },
  create(context) {
    const { sourceCode } = context;
    const { program, esTreeNodeToTSNodeMap } = sourceCode.parserServices;
    const checker = program.getTypeChecker();

    const isText = (node) => {
      const type = checker.getTypeAtLocation(esTreeNodeToTSNodeMap.get(asserted(node)));
      return (type.isUnion() ? type.types : [type]).some(({ flags }) => (flags & ts.TypeFlags.String) !== 0);
    };

    const isGuarded = (object, key) => {
      const guard = `Object.hasOwn(${sourceCode.getText(object)}, ${sourceCode.getText(key)})`;
      return sourceCode.getAncestors(key).some((node) => {
        const condition = node.type === 'LogicalExpression' ? node.left : node.test;
        return condition !== undefined && condition !== null && sourceCode.getText(condition).includes(guard);
      });
    };

    const check = (node, object, key) => {
      if (isText(key) && !isGuarded(object, key))
        context.report({ node, messageId: 'inherited', data: { text: sourceCode.getText(key) } });
    };

    return {
      'MemberExpression[computed=true]': (node) => check(node, node.object, node.property),
      "BinaryExpression[operator='in']": (node) => check(node, node.right, node.left),
      'ObjectPattern > Property[computed=true]': (node) => check(node, node.parent, node.key),
    };
  },
};
