//! The picture of a graph: nodes with their ports from left to right, and the edges between them. Lowest first: the
//! diagram says what there is, the layout where it is, the figure how it looks. Knows programs, but no views.

mod build;
mod cache;
mod diagram;
mod figure;
mod layout;
mod opened;
mod picture;
mod text;
mod thumbnail;

use dsrs::graph::Program;
use maud::Markup;

use dsrs_app::GraphSketch;

pub(crate) use self::build::graphs_inside;
pub(crate) use self::cache::drawing;
pub(crate) use self::figure::FigureOptions;
pub(crate) use self::opened::Opened;
use self::picture::Picture;

/// The picture of a graph, laid out.
#[derive(Debug)]
pub(crate) struct Drawing(Picture);

impl Drawing {
    /// Lays out the picture of a program.
    pub(crate) fn of(program: &Program, opened: &Opened) -> Self {
        Self(Picture::of(build::diagram(program, opened)))
    }

    /// Lays out the picture of a definition that is being written.
    pub(crate) fn of_sketch(sketch: &GraphSketch) -> Self {
        Self(Picture::of(build::sketched(sketch)))
    }

    /// The picture in its frame. `drawing.js` adds to it.
    pub(crate) fn figure(&self, options: &FigureOptions<'_>) -> Markup {
        figure::figure(&self.0, options)
    }

    /// The picture in small, without texts.
    pub(crate) fn thumbnail(&self) -> Markup {
        thumbnail::thumbnail(&self.0)
    }

    fn weight(&self) -> usize {
        self.0.weight()
    }
}

#[cfg(test)]
mod tests;
