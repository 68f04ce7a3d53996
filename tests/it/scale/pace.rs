//! Spreads the work over the faults: a part of it is accepted before each fault, so that every fault finds work in
//! progress.

use tokio::sync::watch;

/// How many of the faults have been.
pub struct Pace {
    faults: usize,
    been: watch::Sender<usize>,
}

impl Pace {
    pub fn new(faults: usize) -> Self {
        Self { faults, been: watch::Sender::new(0) }
    }

    /// A fault has been.
    pub fn advance(&self) {
        self.been.send_modify(|been| *been += 1);
    }

    /// Waits until it is the turn of this part of so many.
    pub async fn turn(&self, part: usize, parts: usize) {
        let wanted = part * self.faults / parts;
        self.been.subscribe().wait_for(|been| *been >= wanted).await.unwrap();
    }

    /// Waits for one more fault, if there is one.
    pub async fn next(&self) {
        let wanted = (*self.been.borrow() + 1).min(self.faults);
        self.been.subscribe().wait_for(|been| *been >= wanted).await.unwrap();
    }
}
