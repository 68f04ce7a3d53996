//! What the address of a graph's view names: version, selected node, open nodes, and inputs for a prompt. Knows no view.

/// The prefix of the fields that hold inputs of the selected node.
const INPUT: &str = "in.";

/// What is shown of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphSelection {
    pub(super) version: Option<i32>,
    /// The path of the selected node.
    pub(super) node: Option<String>,
    /// The paths of the nodes that show what is inside.
    pub(super) open: Vec<String>,
    /// The inputs of the selected node, as they were typed.
    inputs: Vec<(String, String)>,
}

impl GraphSelection {
    /// Reads the parameters of an address, or the fields of a form.
    pub(super) fn of<'p>(fields: impl IntoIterator<Item = (&'p str, &'p str)>) -> Self {
        let mut selection = Self::default();
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.contains('\0')) {
            match name {
                "version" => selection.version = value.parse().ok().filter(|version| *version > 0),
                "node" => selection.node = Some(value.to_owned()).filter(|node| !node.is_empty()),
                "open" => selection.open = value.split(',').map(str::to_owned).collect(),
                _ => selection.inputs.extend(
                    name.strip_prefix(INPUT).map(|field| (field.to_owned(), value.to_owned())),
                ),
            }
        }
        selection.open.retain(|path| !path.is_empty());
        selection
    }

    /// The text that was typed for an input.
    pub(super) fn input(&self, field: &str) -> Option<&str> {
        self.inputs.iter().find(|(name, _)| name == field).map(|(_, text)| text.as_str())
    }

    /// The name of the field of an input.
    pub(super) fn field_of(input: &str) -> String {
        format!("{INPUT}{input}")
    }

    /// The nodes that are open, as one field.
    pub(super) fn open_field(&self) -> String {
        self.open.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_version_node_open_nodes_and_inputs() {
        let fields =
            [("version", "3"), ("node", "a/b"), ("open", "a,,c"), ("in.q", "why?"), ("x", "")];
        let selection = GraphSelection::of(fields);
        assert_eq!((selection.version, selection.node.as_deref()), (Some(3), Some("a/b")));
        assert_eq!(selection.open, ["a", "c"]);
        assert_eq!((selection.input("q"), selection.input("x")), (Some("why?"), None));
        assert_eq!(GraphSelection::of([("version", "-1")]).version, None);
    }
}
