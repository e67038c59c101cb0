import { NodeFlags, SyntaxKind, type Node } from "typescript/unstable/ast";
import {
  isArrayLiteralExpression,
  isClassDeclaration,
  isIdentifier,
  isNewExpression,
  isPropertyDeclaration,
  isVariableDeclarationList,
  isVariableStatement,
} from "typescript/unstable/ast/is";
import { lineOf, type Sources } from "./uses.ts";

/** What changes by its methods, and whose read-only kin may stand at the top of a module. */
const mutable = new Set(["Map", "Set", "WeakMap", "WeakSet", "Array"]);

/**
 * Lines where a module keeps something that can change: `let` and `var` at its top, collections whose type is not a read-only one, and
 * static fields of classes that are either.
 */
export const findModuleState = (file: string, sources: Sources): readonly number[] => {
  const tree = sources.tree(file);
  const lines: number[] = [];
  tree.forEachChild((statement) => {
    for (const node of kept(statement, sources)) lines.push(lineOf(tree, node));
  });
  return lines;
};

const kept = (statement: Node, sources: Sources): readonly Node[] => {
  if (isVariableStatement(statement)) {
    const list = statement.declarationList;
    if (!isVariableDeclarationList(list)) return [];
    if ((list.flags & NodeFlags.Const) === 0) return [...list.declarations];
    return list.declarations.filter(({ name, initializer }) => canChange(name, initializer, sources));
  }
  if (!isClassDeclaration(statement)) return [];
  return statement.members.filter(
    (member) =>
      isPropertyDeclaration(member) &&
      has(member, SyntaxKind.StaticKeyword) &&
      (!has(member, SyntaxKind.ReadonlyKeyword) || canChange(member.name, member.initializer, sources)),
  );
};

const has = (member: { readonly modifiers?: readonly Node[] }, kind: SyntaxKind): boolean =>
  member.modifiers?.some((modifier) => modifier.kind === kind) ?? false;

const canChange = (name: Node, initializer: Node | undefined, sources: Sources): boolean => {
  if (!isIdentifier(name)) return false;
  const makes = initializer && (isNewExpression(initializer) || isArrayLiteralExpression(initializer));
  const type = sources.checker.getTypeAtLocation(name);
  const symbol = type?.getSymbol();
  return makes === true && symbol !== undefined && mutable.has(symbol.name);
};
